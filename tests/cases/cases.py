"""The reported faults: where they lie, how their limits are spoken, and what each expects.

A case is a folder with body.json (the raw bytes as sent) and case.json (format, limits, expectation, source).
They are read in place, beside the project, and never copied into it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.checker.cuts import partial_escapes
from tests.checker.dialects import Body, read
from tests.checker.json_tokens import Node, scan

FOLDER = Path(__file__).parents[2].parent / "shared" / "cases"


@dataclass(frozen=True, slots=True)
class Case:
    """One reported fault, or one vector: the body as sent, the call's limits and what must come out."""

    id: str
    about: str
    format: str
    limits: Mapping[str, Any]
    expect: Mapping[str, Any]
    body: bytes

    def limit_arguments(self) -> list[str]:
        """The limits as the command line takes them."""
        arguments: list[str] = []
        for name, value in self.limits.items():
            arguments += ["--limit", f"{name}={_spoken(value)}"]
        return arguments


def _spoken(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


def load_cases(folder: Path = FOLDER) -> list[Case]:
    """All cases by name; none when the folder is absent."""
    if not folder.is_dir():
        return []
    return [_load(place) for place in sorted(folder.iterdir()) if (place / "case.json").is_file()]


def _load(place: Path) -> Case:
    said = json.loads((place / "case.json").read_text(encoding="utf-8"))
    body = (place / "body.json").read_bytes()
    return Case(said["id"], said["about"], said["format"], said["limits"], said["expect"], body)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came out of a case, read once for all expectations."""

    before: Body
    after: Body
    stats: Mapping[str, Any] | None

    def changed_results(self) -> list[tuple[list[str], list[str]]]:
        """Old and new texts of each result that changed."""
        found = []
        for old, new in zip(self.before.results, self.after.results, strict=True):
            if old.node.raw != new.node.raw:
                found.append(([text.text for text in old.texts], [text.text for text in new.texts]))
        return found


def expectation_violations(
    case: Case, before: bytes, after: bytes, stats: Mapping[str, Any] | None
) -> list[str]:
    """What of a case's expectation does not hold.

    Args:
        case: the case or vector.
        before: the body as sent.
        after: the body as pruned.
        stats: the reply's PruneStats by field name, or None when the door gives none.

    Returns:
        One line for each broken expectation; an expectation of an unknown kind is one too.
    """
    old, new = read(case.format, scan(before)), read(case.format, scan(after))
    if len(old.messages) != len(new.messages) or len(old.results) != len(new.results):
        had = f"{len(old.messages)} messages and {len(old.results)} results"
        return [f"{had} became {len(new.messages)} and {len(new.results)}"]
    outcome = _Outcome(old, new, stats)
    found: list[str] = []
    for key, expected in case.expect.items():
        judge = _JUDGES.get(key)
        found += judge(outcome, expected) if judge is not None else [f"unknown expectation {key!r}"]
    return found


def _pruned(outcome: _Outcome, expected: Any) -> list[str]:
    found = []
    if (outcome.before.root.body != outcome.after.root.body) is not expected:
        found.append(f"pruned: the body {'is unchanged' if expected else 'changed'}")
    if outcome.stats is not None and bool(outcome.stats.get("pruned", False)) is not expected:
        found.append(f"pruned: stats do not say {expected}")
    return found


def _budget_met(outcome: _Outcome, expected: Any) -> list[str]:
    if outcome.stats is not None and bool(outcome.stats.get("budget_met", False)) is not expected:
        return [f"budget_met: stats do not say {expected}"]
    return []


def _raw(body: Body, place: tuple[int, int | None]) -> bytes | None:
    message, block = place
    node: Node = body.messages[message].node
    if block is None:
        return node.raw
    content = node.get("content") or node.get("parts") or node.get("output")
    blocks = content.elements() if content is not None else []
    return blocks[block].raw if block < len(blocks) else None


def _change(is_wanted: bool) -> Callable[[_Outcome, Any], list[str]]:
    def judge(outcome: _Outcome, expected: Any) -> list[str]:
        found = []
        for message, block in expected:
            old, new = (_raw(body, (message, block)) for body in (outcome.before, outcome.after))
            if old is None:
                found.append(f"the case has no block {block} in message {message}")
            elif (old != new) is not is_wanted:
                found.append(
                    f"{'must_change' if is_wanted else 'must_keep'}: message {message}, block {block}"
                )
        return found

    return judge


def _min_changed(outcome: _Outcome, expected: Any) -> list[str]:
    changed = len(outcome.changed_results())
    return [f"min_changed: {changed} results changed, not {expected}"] if changed < expected else []


def _no_partial_ansi(outcome: _Outcome, expected: Any) -> list[str]:
    found = []
    for olds, news in outcome.changed_results():
        if expected and sum(map(partial_escapes, news)) > sum(map(partial_escapes, olds)):
            found.append("no_partial_ansi: an escape sequence was cut in half")
    return found


def _output(outcome: _Outcome, expected: Any) -> list[str]:
    return (
        [] if outcome.after.root.body == expected.encode() else ["output: the body is not the expected one"]
    )


_JUDGES: dict[str, Callable[[_Outcome, Any], list[str]]] = {
    "pruned": _pruned,
    "budget_met": _budget_met,
    "must_change": _change(True),
    "must_keep": _change(False),
    "min_changed": _min_changed,
    "no_partial_ansi": _no_partial_ansi,
    "output": _output,
}
