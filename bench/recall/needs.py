"""What the next message needs: the identifiers and lines that it can only have taken from a tool result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.recall.sessions import Session
from bench.recall.shapes import Said, call_points, said

LEAST_SESSION_TOKENS: Final = 30_000
"""Shorter sessions are rarely pruned and are not measured (tokens)."""
POINTS: Final = 16
"""Messages measured of each session, at most."""
IDENTIFIER_CHARS: Final = 6
LINE_CHARS: Final = 25

_WORD: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_./:\-]*[A-Za-z0-9_])?")
_MARK: Final = re.compile(r"[0-9_./:\-]|[a-z][A-Z]|[A-Z]{2}[a-z]")


@dataclass(frozen=True, slots=True)
class Need:
    """One text that the next message takes from tool results.

    Attributes:
        text: The text.
        holders: The messages whose results hold it.
    """

    text: str
    holders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One later assistant message of a session, and what it needs from the results before it.

    Attributes:
        end: The number of messages before it: the prefix handed to a pruner.
        identifiers: The identifiers it can only have from tool results.
        lines: The lines of tool results that its call arguments repeat and nobody else has said.
    """

    end: int
    identifiers: tuple[Need, ...]
    lines: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A session and the points at which it is measured."""

    session: Session
    points: tuple[Point, ...]


def identifiers(text: str) -> set[str]:
    """The identifiers of a text: at least six characters with a separator, a digit or an inner capital."""
    return {
        word
        for word in _WORD.findall(text)
        if len(word) >= IDENTIFIER_CHARS and _MARK.search(word) is not None
    }


def sample(sessions: Iterable[Session], points: int = POINTS) -> list[Sampled]:
    """Chooses where to measure: `points` assistant messages spread evenly over each session's second half.

    Only sessions of at least 30,000 tokens take part, and only messages that need something. The choice
    depends on nothing but the session.
    """
    chosen = []
    for session in sessions:
        if session.tokens < LEAST_SESSION_TOKENS:
            continue
        texts = [said(message, session.dialect) for message in session.messages]
        found = _spread(session, texts, points)
        if found:
            chosen.append(Sampled(session, tuple(found)))
    return chosen


def _spread(session: Session, texts: Sequence[Said], points: int) -> list[Point]:
    half = session.tokens / 2
    before, total = [], session.fixed_tokens
    for size in session.sizes:
        before.append(total)
        total += size
    ends = [end for end in call_points(session.messages) if before[end] >= half]
    found: list[Point] = []
    reached = 0
    for number in range(points):
        # The first message at or after each of the evenly spaced places that needs something.
        for index in range(max(reached, number * len(ends) // points), len(ends)):
            reached = index + 1
            point = point_at(texts, ends[index])
            if point.identifiers:
                found.append(point)
                break
    return found


def point_at(texts: Sequence[Said], end: int) -> Point:
    """What the message at index `end` needs from the results before it."""
    nothing = Said((), (), (), is_model=True)
    following = texts[end] if end < len(texts) else nothing
    results = ["\n".join(text.results) for text in texts[:end]]
    spoken = "\n".join(text for message in texts[:end] for text in message.prose)
    wanted: set[str] = set()
    for text in following.prose:
        wanted |= identifiers(text)
    lines = {line.strip() for text in following.arguments for line in text.splitlines()}
    return Point(
        end,
        _needs(sorted(wanted), spoken, results),
        _needs(sorted(line for line in lines if len(line) >= LINE_CHARS), spoken, results),
    )


def _needs(wanted: Iterable[str], spoken: str, results: Sequence[str]) -> tuple[Need, ...]:
    """Those of the wanted texts that stand in results and nowhere else."""
    joined = "\n".join(results)
    found = []
    for text in wanted:
        if text in joined and text not in spoken:
            holders = tuple(index for index, result in enumerate(results) if text in result)
            found.append(Need(text, holders))
    return tuple(found)
