"""The dialect that filters are written in: Starlark, its JSON module and four functions over RE2.

Imported by the zygote alone: nothing here can be bounded from within the process that runs it.
"""

import json  # noqa: F401 starlark loads it with its first value: here once, not in every job that is forked
from typing import Final

import re2
import starlark
from starlark import LibraryExtension

from pinch_server.extract.program import MOST_INPUT_BYTES, FaultKind, ProgramFault, Ran

MOST_STEPS: Final = 50_000_000
"""Most instructions of a program. The interpreter asks whether to go on about every thousand of them."""
_STEPS_BETWEEN_CHECKS: Final = 1_000
_DETAIL_CHARS: Final = 1_000
_SUMMARY_CHARS: Final = 1_000
_START: Final = 'OUTPUT = INPUT\nSUMMARY = ""\npass\n'

# The default falls back to a backtracking engine without a word where a pattern has look-around.
re2.set_fallback_notification(re2.FALLBACK_EXCEPTION)

_LIBRARY: Final = starlark.Globals.extended_by(
    # What `print` prints goes nowhere; a program that has one for tracing need not fail for it.
    [LibraryExtension.Json, LibraryExtension.Map, LibraryExtension.Filter, LibraryExtension.Print]
)


def _dialect() -> starlark.Dialect:
    dialect = starlark.Dialect.standard()
    dialect.enable_def = True
    dialect.enable_lambda = True
    dialect.enable_keyword_only_arguments = True
    dialect.enable_top_level_stmt = True
    dialect.enable_f_strings = True
    # Read past: what a model writes out of habit costs no round trip.
    dialect.enable_types = starlark.DialectTypes.PARSE_ONLY
    dialect.enable_load = False
    return dialect


_DIALECT: Final = _dialect()


def _findall(pattern: str, text: str) -> list[object]:
    return [list(found) if isinstance(found, tuple) else found for found in re2.findall(pattern, text)]


def _split(pattern: str, text: str, most: int = 0) -> list[str]:
    return [part or "" for part in re2.split(pattern, text, maxsplit=most)]


def _sub(pattern: str, replacement: str, text: str, count: int = 0) -> str:
    replaced: str = re2.sub(pattern, replacement, text, count)
    return replaced


def _match(pattern: str, text: str) -> list[str] | None:
    match = re2.search(pattern, text)
    return None if match is None else [match.group(0), *(group or "" for group in match.groups())]


def run_program(program: str, text: str) -> Ran | ProgramFault:
    """Runs a program over a text, in this process.

    Whatever the interpreter raises becomes a fault; what kills the process does not.

    Args:
        program: Source text, within `MOST_PROGRAM_BYTES`.
        text: What it finds in INPUT.
    """
    module = starlark.Module()
    module["INPUT"] = text
    starlark.eval(module, starlark.parse("start", _START, _DIALECT), _LIBRARY)
    module.add_callable("re_findall", _findall)
    module.add_callable("re_split", _split)
    module.add_callable("re_sub", _sub)
    module.add_callable("re_match", _match)
    steps = _Steps()
    options = starlark.EvalOptions(check_cancelled=steps.are_spent)
    try:
        # The value of a last expression would be converted, and may be one that cannot be.
        parsed = starlark.parse("program", f"{program}\npass\n", _DIALECT)
    except starlark.StarlarkError as error:
        return ProgramFault(FaultKind.SYNTAX, _words(error))
    except BaseException as error:  # noqa: BLE001 a Rust panic is no Exception
        return ProgramFault(FaultKind.PANIC, _words(error))
    try:
        starlark.eval_with(options, module, parsed, _LIBRARY)
    except starlark.StarlarkError as error:
        if steps.are_over:
            return ProgramFault(FaultKind.RUNTIME, f"more than {MOST_STEPS:,} steps")
        words = _words(error)
        # A name that exists nowhere is found before the first step, as a syntax error is.
        is_unknown_name = words.startswith("Variable `")
        return ProgramFault(FaultKind.SYNTAX if is_unknown_name else FaultKind.RUNTIME, words)
    except BaseException as error:  # noqa: BLE001 a Rust panic is no Exception
        return ProgramFault(FaultKind.PANIC, _words(error))
    return _result(module)


def _result(module: starlark.Module) -> Ran | ProgramFault:
    try:
        output, summary = module["OUTPUT"], module["SUMMARY"]
    except BaseException as error:  # noqa: BLE001 a value may not be convertible, or too large to be
        return ProgramFault(FaultKind.NOT_TEXT, _words(error))
    if not isinstance(output, str):
        return ProgramFault(FaultKind.NOT_TEXT)
    if not isinstance(summary, str):
        return ProgramFault(FaultKind.NO_PAIR)
    if not output.strip():
        return ProgramFault(FaultKind.EMPTY)
    if len(output.encode()) > MOST_INPUT_BYTES:
        return ProgramFault(FaultKind.NOT_SMALLER)
    return Ran(output, summary[:_SUMMARY_CHARS])


class _Steps:
    """Counts how often the interpreter asked whether to go on."""

    def __init__(self) -> None:
        self._left = MOST_STEPS // _STEPS_BETWEEN_CHECKS

    @property
    def are_over(self) -> bool:
        return self._left < 0

    def are_spent(self) -> bool:
        self._left -= 1
        return self._left < 0


def _words(error: BaseException) -> str:
    """What is wrong, then where; without the calls that led there."""
    words = str(error)
    at = words.find("error: ") if words.startswith(("error: ", "Traceback")) else -1
    return words[at + len("error: ") if at >= 0 else 0 :][:_DETAIL_CHARS] or type(error).__name__
