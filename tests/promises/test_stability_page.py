"""The page on stability names what is there: every module, function and test of its tables."""

import ast
import re
from pathlib import Path

from tests.promises.declared import ROOT

PAGE = (ROOT / "docs" / "stability.md").read_text()
NAMED = re.compile(r"`([\w/]+\.py)` `(\w+)`")
POINTS = 15


def rows() -> list[list[str]]:
    """The cells of each row of the page's tables, headings aside."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if "kept by" not in row]


def defined(path: Path) -> set[str]:
    """Every function and class of a file, methods included."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)}


def test_every_point_has_its_row() -> None:
    """Each of the fifteen points stands in the table once, in order."""
    numbers = [int(row[0]) for row in rows() if row[0].isdigit()]
    assert numbers == list(range(1, POINTS + 1))


def test_every_row_names_code_and_tests_that_are_there() -> None:
    """Each row names a function of the service and at least one test, and all of them exist."""
    found = rows()
    assert len(found) > POINTS
    for row in found:
        *_, code, held = row
        for cell, base in ((code, ROOT / "server" / "pinch_server"), (held, ROOT / "tests")):
            named = NAMED.findall(cell)
            assert named, cell
            for file, name in named:
                assert name in defined(base / file), f"{file} has no {name}"
                assert base.name != "tests" or name.startswith("test_")


def test_links_lead_somewhere() -> None:
    """Every file and folder that the page links to or names is there."""
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    for module in re.findall(r"`(bench/\w+)`", PAGE):
        assert (ROOT / module).exists() or (ROOT / f"{module}.py").exists(), module
