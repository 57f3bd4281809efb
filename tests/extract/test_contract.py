"""What the contract says of the dialect is so: what it says works does, and what it says fails does."""

import builtins
import keyword
import re

import pytest

from pinch_server.extract.program import FaultKind, ProgramFault, Ran
from pinch_server.extract.prompts.contract import EXAMPLE, FAILS, WORKS, contract
from pinch_server.extract.sandbox import Sandbox

LOG = "start\nok one\nERROR two in src/a.py\nok three\nsee src/app.py\nok four\n"
_PROSE = {"and", "dict", "list"}
"""Names that the claims have as words."""
REFUSED = [(claim, program) for claim, *programs in FAILS for program in programs]


@pytest.mark.parametrize(("claim", "program"), WORKS, ids=[claim for claim, _ in WORKS])
def test_what_the_contract_allows_runs(sandbox: Sandbox, claim: str, program: str) -> None:
    """Each claim of what works is in the contract, and a program that uses it gives an output."""
    assert f"- {claim}\n" in contract(rewrite=True)
    result = sandbox.run(program, "some text")
    assert isinstance(result, Ran), (claim, result)
    assert result.output != "some text"


@pytest.mark.parametrize(("claim", "program"), WORKS, ids=[claim for claim, _ in WORKS])
def test_a_claim_is_tried_to_its_last_word(claim: str, program: str) -> None:
    """Whatever function, method or keyword a claim names stands in the program that it is tried with."""
    names = {*keyword.kwlist, *dir(builtins), *dir(str), "key", "reverse", "elems"} - _PROSE
    named = set(re.findall(r"[a-z_]+", claim)) & names
    assert {name for name in named if not re.search(rf"\b{name}\b", program)} == set()


@pytest.mark.parametrize(("claim", "program"), REFUSED, ids=[program for _, program in REFUSED])
def test_what_the_contract_forbids_fails(sandbox: Sandbox, claim: str, program: str) -> None:
    """Each claim of what fails is in the contract, and every program that does it is a fault."""
    assert f"- {claim}\n" in contract(rewrite=True)
    result = sandbox.run(program, "some text")
    assert isinstance(result, ProgramFault), claim
    assert result.kind in {FaultKind.SYNTAX, FaultKind.RUNTIME}


@pytest.mark.parametrize(
    ("program", "output"),
    [
        ("OUTPUT = INPUT", LOG),
        ("pass", LOG),
        (
            "OUTPUT = str([re_findall('(a)(b)', 'abab'), re_findall('a', 'aa')])",
            '[[["a", "b"], ["a", "b"]], ["a", "a"]]',
        ),
        ("OUTPUT = str([re_match('b(c)?', 'abd'), re_match('z', 'abd')])", '[["b", ""], None]'),
        ("OUTPUT = re_sub('(?i)(A)b', '<\\\\1>', 'ab')", "<a>"),
        ("OUTPUT = str(re_findall('(?m)^ok', INPUT))", '["ok", "ok", "ok"]'),
        ("OUTPUT = str(re_match('(?s)a.b', 'a\\nb') != None)", "True"),
        ("OUTPUT = str(re_split('[,;] *', 'a, b;c'))", '["a", "b", "c"]'),
        ("OUTPUT = json.encode(json.decode('[123456789012345, \"é\"]'))", '[123456789012345,"é"]'),
        ("OUTPUT = json.encode(json.decode('[12345678901234567890]'))", "[12345678901234567890]"),
        ("OUTPUT = json.encode(json.decode('[1.50]'))", "[1.5]"),
        ("print('traced')\nOUTPUT = 'a'", "a"),
        ("def f(x: int) -> str:\n    return str(x)\nOUTPUT = f(1)", "1"),
    ],
)
def test_the_contracts_words_on_values_are_so(sandbox: Sandbox, program: str, output: str) -> None:
    """INPUT, OUTPUT and the functions behave as the contract says."""
    result = sandbox.run(program, LOG)
    assert isinstance(result, Ran), result
    assert result.output == output


def test_the_example_runs(sandbox: Sandbox) -> None:
    """The program that the contract shows runs, and does what a filter is for."""
    assert EXAMPLE in contract(rewrite=True)
    assert sandbox.run(EXAMPLE, LOG) == Ran("ERROR two in src/a.py\nsee src/app.py", "5 quiet lines left out")
    assert sandbox.run(EXAMPLE, "nothing to see") == Ran("nothing to see", "1 quiet lines left out")


def test_a_summary_of_any_kind_of_text_comes_back(sandbox: Sandbox) -> None:
    """SUMMARY starts empty, and what is assigned comes back."""
    assert sandbox.run("SUMMARY = SUMMARY + 'gone'", "text") == Ran("text", "gone")


def test_the_limits_that_the_contract_names_hold(sandbox: Sandbox) -> None:
    """More steps than the contract grants are a fault that says so."""
    assert "50,000,000 steps" in contract(rewrite=False)
    result = sandbox.run("for a in range(1000000):\n  for b in range(1000000):\n    x = 1", "text")
    assert isinstance(result, ProgramFault)
    assert result.kind is FaultKind.RUNTIME
