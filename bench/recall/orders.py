"""Baselines: plain trimming of old tool results in one order or another, until the budget is met."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.recall.bm25 import bm25
from bench.recall.shapes import (
    Dialect,
    Json,
    Result,
    call_names,
    dialect_of,
    message_tokens,
    results_of,
    said,
    with_result,
)

NEWEST_KEPT: Final = 4
"""Results at the end that the baselines never touch."""
_LONG: Final = 4_000
_SIDE: Final = 1_500


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool result that may be trimmed.

    Attributes:
        message: Index of its message.
        result: The result.
    """

    message: int
    result: Result


Order = Callable[[Sequence[Json], Sequence[Candidate], Dialect], Sequence[int]]
"""Positions of candidates, the first to be trimmed first."""


def trimmed(result: Result) -> str:
    """The original form: head and tail of a long text, a placeholder for a short one, never longer."""
    text = result.text
    if len(text) > _LONG:
        return f"{text[:_SIDE]}\n\n[...{len(text) - 2 * _SIDE:,} chars trimmed...]\n\n{text[-_SIDE:]}"
    return omitted(result)


def omitted(result: Result) -> str:
    """A placeholder, where it is shorter than the text."""
    placeholder = f"[{result.tool}: result omitted]"
    return placeholder if len(placeholder) < len(result.text) else result.text


def candidates_of(messages: Sequence[Json], dialect: Dialect, newest_kept: int) -> list[Candidate]:
    """Every tool result but the newest ones, in order of appearance, each with its tool's name."""
    names: dict[str, str] = {}
    found: list[Candidate] = []
    for index, message in enumerate(messages):
        for result in results_of(message, dialect):
            tool = names.get(result.call_id, result.tool) if result.tool == "tool" else result.tool
            found.append(Candidate(index, Result(result.block, tool, result.text, result.call_id)))
        names.update(call_names(message))
    return found[:-newest_kept] if newest_kept else found


def trim_in_order(
    messages: list[Json], budget_tokens: int, order: Order, *, newest_kept: int = NEWEST_KEPT
) -> list[Json]:
    """Trims candidates in an order until the estimate is within the budget.

    When every candidate has been trimmed and the budget is still not met, the long ones, of which head and
    tail were kept, become placeholders in the same order.
    """
    dialect = dialect_of(messages)
    total = sum(_size(message, dialect) for message in messages)
    if total <= budget_tokens:
        return messages
    candidates = candidates_of(messages, dialect, newest_kept)
    ranked = [candidates[position] for position in order(messages, candidates, dialect)]
    output = list(messages)
    for form in (trimmed, omitted):
        for candidate in ranked:
            if total <= budget_tokens:
                return output
            text = form(candidate.result)
            before = output[candidate.message]
            if text != candidate.result.text:
                after = with_result(before, candidate.result.block, text)
                output[candidate.message] = after
                total += _size(after, dialect) - _size(before, dialect)
    return output


def _size(message: Json, dialect: Dialect) -> int:
    return message_tokens(message, dialect)


def oldest(_messages: Sequence[Json], candidates: Sequence[Candidate], _dialect: Dialect) -> Sequence[int]:
    """In order of appearance."""
    return range(len(candidates))


def largest(_messages: Sequence[Json], candidates: Sequence[Candidate], _dialect: Dialect) -> Sequence[int]:
    """Longest text first."""
    return sorted(range(len(candidates)), key=lambda index: -len(candidates[index].result.text))


def shuffled(messages: Sequence[Json], candidates: Sequence[Candidate], _dialect: Dialect) -> Sequence[int]:
    """At random, the same at every run."""
    order = list(range(len(candidates)))
    random.Random(len(messages) * 1_000_003 + sum(len(c.result.text) for c in candidates)).shuffle(order)
    return order


def least_like_last_user(
    messages: Sequence[Json], candidates: Sequence[Candidate], dialect: Dialect
) -> Sequence[int]:
    """The worst match with the last user text first: the idea of the original's ranking, without vectors."""
    query = ""
    for message in reversed(messages):
        if message.get("role") == "user":
            query = "\n".join(said(message, dialect).prose)
            if query.strip():
                break
    scores = bm25(query, [candidate.result.text for candidate in candidates])
    return sorted(range(len(candidates)), key=lambda index: (scores[index], index))


def drop_oldest(messages: list[Json], budget_tokens: int) -> list[Json]:
    """Drops whole messages, oldest first, keeping the head that speaks first and no orphaned result."""
    dialect = dialect_of(messages)
    sizes = [_size(message, dialect) for message in messages]
    total = sum(sizes)
    head = _head(messages)
    first = head
    while first < len(messages) and (
        total > budget_tokens or (first > head and _answers(messages[first], dialect))
    ):
        total -= sizes[first]
        first += 1
    return messages if first == head else messages[:head] + messages[first:]


def _head(messages: Sequence[Json]) -> int:
    """System and developer messages at the start and the first user message."""
    for index, message in enumerate(messages):
        if message.get("role") == "user":
            return index + 1
        if message.get("role") not in ("system", "developer"):
            return index
    return len(messages)


def _answers(message: Json, dialect: Dialect) -> bool:
    return bool(results_of(message, dialect))


def trim_all(messages: list[Json], _budget_tokens: int) -> list[Json]:
    """The original's uniform trimming, whatever the budget, of all but the newest four results."""
    dialect = dialect_of(messages)
    output = list(messages)
    for candidate in candidates_of(messages, dialect, NEWEST_KEPT):
        text = trimmed(candidate.result)
        if text != candidate.result.text:
            output[candidate.message] = with_result(output[candidate.message], candidate.result.block, text)
    return output
