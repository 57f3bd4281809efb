"""The log lines: one a call, machine-readable, and never a word of content."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from pinch_server.observe import logs

CONTENT = "the planted words of a conversation"


@pytest.fixture
def stream() -> Iterator[io.BytesIO]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield io.BytesIO()
    structlog.reset_defaults()
    root.setLevel(level)
    root.handlers[:] = handlers


def lines(stream: io.BytesIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def fail() -> None:
    """Raises an error whose message and whose cause's message quote content."""
    try:
        dict[str, int]()[CONTENT]
    except KeyError as error:
        raise ValueError(CONTENT) from error


def test_a_call_leaves_one_line(stream: io.BytesIO) -> None:
    """A finished call is one JSON object with the decision id and only the facts that were given."""
    logs.configure("info", "json", stream)
    logs.log_call(
        method="/pinch.v1.PruneService/Prune",
        code="OK",
        seconds=0.0125,
        decision_id="0190",
        result="pruned",
        original_tokens=9,
        final_tokens=4,
        persisted=False,
    )
    (line,) = lines(stream)
    assert str(line.pop("time")).endswith("Z")
    assert line == {
        "event": "call",
        "level": "info",
        "method": "/pinch.v1.PruneService/Prune",
        "code": "OK",
        "milliseconds": 12.5,
        "decision_id": "0190",
        "result": "pruned",
        "original_tokens": 9,
        "final_tokens": 4,
        "persisted": False,
    }


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_callers_id_cannot_break_a_line(stream: io.BytesIO, form: logs.Format) -> None:
    """Line breaks, control sequences, surrogates and length in a request id stay inside one short line."""
    logs.configure("info", form, stream)
    logs.log_call(method="m", code="OK", seconds=0, request_id="\n\x1b[2J\ud800" + "x" * 10_000)
    written = stream.getvalue()
    assert written.count(b"\n") == 1
    assert b"\x1b[2J" not in written
    assert len(written) < 600


def test_labels_are_bounded(stream: io.BytesIO) -> None:
    """Of a caller's labels 16 are written, names and values cut at 128 and without control characters."""
    logs.configure("info", "json", stream)
    labels = {f"name-{number:03}": "v" for number in range(50)}
    labels |= {"a\x1b[2J\nb": "\r\n\u2028c\ud800d", "b" * 500: "\x00" + "x" * 500}
    logs.log_call(method="m", code="OK", seconds=0, labels=labels)
    (line,) = lines(stream)
    written = line["labels"]
    assert isinstance(written, dict)
    assert len(written) == 16
    assert written["a [2J b"] == " c d"
    assert written["b" * 128] == " " + "x" * 127
    assert "name-013" in written
    assert "name-014" not in written


def test_a_call_without_labels_has_none(stream: io.BytesIO) -> None:
    """A call whose caller gave no labels leaves a line without that fact."""
    logs.configure("info", "json", stream)
    logs.log_call(method="m", code="OK", seconds=0, labels={})
    assert "labels" not in lines(stream)[0]


@pytest.mark.parametrize("form", ["json", "console"])
def test_an_exception_is_told_without_its_message(stream: io.BytesIO, form: logs.Format) -> None:
    """An exception shows its types and frames, and neither its message nor its local variables."""
    logs.configure("info", form, stream)
    try:
        fail()
    except ValueError as error:
        logging.getLogger("elsewhere").log(logging.ERROR, "failed on %s", error, exc_info=error)
        structlog.get_logger().exception("failed")
    written = stream.getvalue().decode()
    assert CONTENT not in written
    assert written.count("builtins.ValueError") == written.count("builtins.KeyError") == 2
    assert "in fail" in written


def test_other_packages_speak_the_same_form(stream: io.BytesIO) -> None:
    """A warning logged through `logging` comes out as a JSON line; its everyday chatter does not."""
    logs.configure("debug", "json", stream)
    logging.getLogger("alembic").info("chatter")
    logging.getLogger("alembic").warning("took %d s", 3)
    (line,) = lines(stream)
    assert (line["event"], line["level"], line["logger"]) == ("took 3 s", "warning", "alembic")


def test_the_level_is_the_least_written(stream: io.BytesIO) -> None:
    """At level error, a call leaves no line and a warning of another package none either."""
    logs.configure("error", "json", stream)
    logs.log_call(method="m", code="OK", seconds=0)
    logging.getLogger("alembic").warning("hidden")
    assert stream.getvalue() == b""


def test_configuring_again_replaces_the_form(stream: io.BytesIO) -> None:
    """A second `configure` writes each line once, in the new form."""
    logs.configure("info", "json", stream)
    logs.configure("info", "console", stream)
    logging.getLogger("x").warning("once")
    assert stream.getvalue().count(b"once") == 1
    assert b"{" not in stream.getvalue()


def test_nothing_is_written_to_standard_output(
    capfdbinary: pytest.CaptureFixture[bytes], stream: io.BytesIO
) -> None:
    """Without a stream, lines go to standard error: standard output belongs to the pruned body."""
    del stream
    logs.configure("info", "json")
    logs.log_call(method="m", code="OK", seconds=0)
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert err.count(b"\n") == 1
