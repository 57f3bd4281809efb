"""Content classes: what a text looks like, by its beginning."""

import pytest

from pinch_server.core.extraction.classes import CLASSES, LOOKED_AT_CHARS, UNRECOGNISED, classify

SAMPLES = {
    "multi_file_bundle": "=== src/app.py ===\nimport os\n=== src/b.py ===\nx = 1\n",
    "read_with_line_numbers": "     1\timport os\n     2\t\n     3\tdef f():\n",
    "grep_output": "src/app.py:12:def run():\nsrc/b.go:3:func main() {\n",
    "ls_listing": "total 48\ndrwxr-xr-x  3 me me 4096 Jan  1 10:00 src\n-rw-r--r-- 1 me me 12 Jan 1 a\n",
    "test_result_log": "collected 12 items\ntests/test_a.py .F\nFAILED tests/test_a.py::test_x\n",
    "markdown_doc": "# Title\n\n- one\n- two\n",
    "json_blob": '{"name": "pinch", "list": [1, 2, 3]}',
    "yaml_config": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n",
    "ansi_cli_output": "\x1b[32mdone\x1b[0m building wheel\n",
    "source_code": "import os\n\n\ndef main():\n    return os.getpid()\n",
}


@pytest.mark.parametrize(("name", "text"), SAMPLES.items())
def test_a_class_by_its_signs(name: str, text: str) -> None:
    """Each class is told by its own signs."""
    assert classify(text).name == name


def test_every_class_has_a_sample_and_its_place() -> None:
    """The classes are those of the design, in their order."""
    assert list(SAMPLES) == [one.name for one in CLASSES]


@pytest.mark.parametrize("text", ["", "   ", "It rained all day, and nobody went out.", "x" * 5_000])
def test_what_has_no_sign_is_unrecognised(text: str) -> None:
    """Prose, blanks and noise have no class, and their share is learned."""
    assert classify(text) is UNRECOGNISED
    assert UNRECOGNISED.removed_share == 0.41
    assert not UNRECOGNISED.is_low_yield


def test_only_the_beginning_is_looked_at() -> None:
    """A sign behind the first 1,600 characters does not count."""
    assert classify("x " * (LOOKED_AT_CHARS // 2) + "\n# Title") is UNRECOGNISED
    assert classify("=== one ===\n" + "x" * 400 + " src/app.py").name != "multi_file_bundle"


def test_the_first_sign_wins() -> None:
    """A numbered listing of markdown is a numbered listing."""
    assert classify("1:# Title\n2:- item\n").name == "read_with_line_numbers"


def test_low_yield_classes_are_those_below_a_quarter() -> None:
    """No window without a model is offered for logs, JSON, coloured output and grep."""
    assert {one.name for one in CLASSES if one.is_low_yield} == {
        "grep_output",
        "test_result_log",
        "json_blob",
        "ansi_cli_output",
    }
