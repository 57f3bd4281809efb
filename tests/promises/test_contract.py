"""What is promised about the clients: the contract's rules, and the tests that hold them in each language."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pinch_server.rpc.asked_faults import NAMES
from tests.promises.client_lines import lines
from tests.vectors.vectors import SCHEMA

CLIENTS = Path(__file__).parents[2] / "clients"
CONTRACT = (CLIENTS / "README.md").read_text(encoding="utf-8")
RULES = [f"C{number}" for number in range(1, 11)]
# Where each language's tests are, and how a test of a name begins there.
TESTS = {
    "python": (CLIENTS.parent / "tests" / "clients" / "python", "test_*.py", r"def {}\("),
    "go": (CLIENTS / "go", "*_test.go", r"func {}\("),
    "typescript": (CLIENTS / "typescript" / "test", "*.ts", r"""(?:test|it)\(\s*["'`]{}"""),
}
LANGUAGES = [language for language in TESTS if (CLIENTS / language).is_dir()]


def contract_rows(language: str) -> dict[str, list[str]]:
    """The tests that a client's page names for each rule."""
    page = (CLIENTS / language / "README.md").read_text(encoding="utf-8").partition("\n## Contract\n")[2]
    rows = re.findall(r"^\| (C\d+)\b[^|]*\|(.*)\|$", page, re.MULTILINE)
    return {rule: re.findall(r"`([^`]+)`", cell) for rule, cell in rows}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_has_tests_that_exist(language: str) -> None:
    """Each client's page names for each rule at least one test, and each named test is there."""
    rows = contract_rows(language)
    assert list(rows) == RULES
    assert all(rows.values())
    folder, files, pattern = TESTS[language]
    # What others installed there is no test of ours.
    texts = [
        path.read_text(encoding="utf-8") for path in folder.rglob(files) if "node_modules" not in path.parts
    ]
    missing = {
        name
        for names in rows.values()
        for name in names
        if not any(re.search(pattern.format(re.escape(name)), text) for text in texts)
    }
    assert missing == set()


def test_the_contract_says_all() -> None:
    """Each rule has a section with its reason, and every fault that can be asked for is named."""
    sections = re.split(r"^## ", CONTRACT, flags=re.MULTILINE)
    for rule in RULES:
        (section,) = [text for text in sections if text.startswith(f"{rule} ")]
        assert "**Reason.**" in section
    assert [name for name in NAMES if f"`{name}:" not in CONTRACT] == []


def test_the_contract_explains_every_field_of_a_vector() -> None:
    """A reader of vectors finds each thing that one may expect on the page."""
    expectations = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]["expect"]["properties"]
    assert expectations
    assert [name for name in expectations if name not in CONTRACT] == []


def test_the_sizes_of_the_clients_are_true() -> None:
    """The lines that the contract's page states for each client are within a tenth of what there is."""
    stated = [
        [int(cell.replace(",", "")) for cell in re.findall(r"[\d,]+", row)]
        for row in re.findall(r"^\| (?:by hand|of tests) \|(.*)\|$", CONTRACT, re.MULTILINE)
    ]
    counted = zip(*(lines(language) for language in ("python", "go", "typescript")), strict=True)
    assert stated == [[pytest.approx(count, rel=0.1) for count in row] for row in counted]
