"""What the points of a row cost, and whether that grows faster than its cause."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from bench.latency.payloads import BUDGET_TOKENS

STEEPEST: Final = 1.2
"""The greatest exponent that passes for linear between points far enough apart: timing is no finer."""
_APART: Final = 2.4
"""How many times as great the cause then is: 50,001 messages are held against 20,001."""
DEAREST_STEP: Final = 2.0
"""How much dearer later calls may be at once where pruning begins: they carry edits from there on."""
LEAST_OF_BEST: Final = 0.75
"""The least share of the best calls a second that two callers or more may get: one alone leaves gaps."""
KINDS: Final = ("first", "next", "again")


@dataclass(frozen=True, slots=True)
class Step:
    """What one point of a row cost.

    Attributes:
        against: `tokens`, `messages` or `callers`.
        value: How many.
        tokens: The size of the conversation (tokens, characters / 3).
        first_ms: A session's first call (milliseconds).
        next_ms: A call with one round more than the one before it (milliseconds).
        again_ms: A call just as the one before it (milliseconds).
        per_second: Calls answered in a second, where callers are varied.
    """

    against: str
    value: int
    tokens: int
    first_ms: float
    next_ms: float
    again_ms: float
    per_second: float = 0.0

    def ms(self, kind: str) -> float:
        """The time of one of the kinds of calls (milliseconds)."""
        return {"first": self.first_ms, "next": self.next_ms, "again": self.again_ms}[kind]

    @property
    def is_over(self) -> bool:
        """Whether its conversation is over the budget, so that anything is planned at all."""
        return self.tokens > BUDGET_TOKENS


def exponent(before: Step, after: Step, kind: str = "first") -> float:
    """How steeply a cost rises from one point to the next: 1 is linear, 2 quadratic."""
    return math.log(after.ms(kind) / before.ms(kind)) / math.log(after.value / before.value)


def faults(steps: Sequence[Step]) -> list[str]:
    """What grows faster than its cause, a sentence each.

    Within the budget nothing is planned, above it everything is, so the one is no measure for the other. A
    first call may cost a token no more where pruning begins than where it is larger: so where nothing is
    said, each side is linear or better, and the whole curve lies under one straight line.
    """
    rows = {name: [step for step in steps if step.against == name] for name in ("tokens", "messages")}
    found: list[str] = []
    for row in rows.values():
        found += _too_steep([step for step in row if not step.is_over])
        found += _too_steep([step for step in row if step.is_over])
    found += _too_high_a_step(rows["tokens"])
    found += _too_few([step for step in steps if step.against == "callers"])
    return found


def _too_steep(row: Sequence[Step]) -> Iterator[str]:
    # Against the nearest that is far enough: over a longer way a fixed cost hides what grows at its end.
    for index, step in enumerate(row):
        before = [one for one in row[:index] if step.value >= _APART * one.value][-1:]
        for one, kind in product(before, KINDS):
            steep = exponent(one, step, kind)
            if steep > STEEPEST:
                yield (
                    f"from {one.value:,} to {step.value:,} {step.against} the {kind} call grows with "
                    f"the power of {steep:.2f}; linear passes, up to {STEEPEST}"
                )


def _too_high_a_step(row: Sequence[Step]) -> Iterator[str]:
    within, over = ([step for step in row if step.is_over is side] for side in (False, True))
    if not within or len(over) < 2:
        return
    # What the smallest conversation costs already is the wire's and the call's own.
    begins, *larger = ((step.first_ms - row[0].first_ms) * 1e3 / step.value for step in over)
    if begins > STEEPEST * max(larger):
        yield (
            f"where pruning begins ({over[0].value:,} tokens) the first call costs {begins:.3g} us a token; "
            f"no larger one costs more than {max(larger):.3g}"
        )
    for kind in ("next", "again"):
        before, after = within[-1].ms(kind), over[0].ms(kind)
        if after > DEAREST_STEP * before:
            yield (
                f"where pruning begins ({over[0].value:,} tokens) the {kind} call goes from {before:.3g} to "
                f"{after:.3g} ms; {DEAREST_STEP:g} times as much passes"
            )


def _too_few(row: Sequence[Step]) -> Iterator[str]:
    best = max((step.per_second for step in row), default=0.0)
    for step in row[1:]:
        if step.per_second < LEAST_OF_BEST * best:
            yield (
                f"{step.value} callers get {step.per_second:.0f} calls a second of {best:.0f} at best; "
                f"{LEAST_OF_BEST:.0%} passes"
            )
