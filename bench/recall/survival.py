"""What of the needed texts is still there after pruning, and how much smaller the prefix has become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.recall.needs import Need, Point
from bench.recall.sessions import Session
from bench.recall.shapes import Json, message_tokens, said


@dataclass(frozen=True, slots=True)
class Shipped:
    """A pruned prefix, seen against the one it was made from.

    Attributes:
        tokens: Its size, the session's fixed part included (tokens).
        kept: Indices of the original messages that are in it unchanged.
        changed_text: All text of the messages that are not.
    """

    tokens: int
    kept: frozenset[int]
    changed_text: str


def shipped(session: Session, end: int, output: Sequence[Json]) -> Shipped:
    """Compares a pruner's output with the prefix `session.messages[:end]`."""
    places = {id(session.messages[index]): index for index in range(end)}
    tokens = session.fixed_tokens
    kept: set[int] = set()
    changed: list[str] = []
    for position, message in enumerate(output):
        index = _place(places, session, position, end, message)
        if index is not None:
            kept.add(index)
            tokens += session.sizes[index]
            continue
        tokens += message_tokens(message, session.dialect)
        text = said(message, session.dialect)
        changed.extend(text.results)
        changed.extend(text.prose)
    return Shipped(tokens, frozenset(kept), "\n".join(changed))


def _place(places: Mapping[int, int], session: Session, position: int, end: int, message: Json) -> int | None:
    index = places.get(id(message))
    if index is None and position < end and message == session.messages[position]:
        return position  # a pruner may hand back copies of what it left alone
    return index


def survivors(needs: Sequence[Need], after: Shipped) -> int:
    """How many of the needed texts still stand in the pruned prefix."""
    return sum(not after.kept.isdisjoint(need.holders) or need.text in after.changed_text for need in needs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One pruned prefix, judged.

    Attributes:
        session: The session's name.
        budget_share: The budget, as a share of the prefix.
        identifiers: Identifiers needed, and how many survive.
        lines: Lines needed, and how many survive.
        before: Size of the prefix (tokens).
        after: Size of what ships (tokens).
        budget_met: Whether that is within the budget.
    """

    session: str
    budget_share: float
    identifiers: tuple[int, int]
    lines: tuple[int, int]
    before: int
    after: int
    budget_met: bool


def judge(session: Session, point: Point, share: float, budget: int, output: Sequence[Json]) -> Outcome:
    """Judges what a pruner made of the prefix before `point` at `budget` tokens, fixed part included."""
    after = shipped(session, point.end, output)
    return Outcome(
        session=session.name,
        budget_share=share,
        identifiers=(len(point.identifiers), survivors(point.identifiers, after)),
        lines=(len(point.lines), survivors(point.lines, after)),
        before=session.fixed_tokens + sum(session.sizes[: point.end]),
        after=after.tokens,
        budget_met=after.tokens <= budget,
    )
