"""The plots of growth: a chart for each row, and one of the sizes around the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bench.growth.steps import KINDS, Step
from bench.recall.svg import Axis, Curve, line_chart

_NEAR_TOKENS: Final = 250_000
_NAMES: Final[Mapping[str, str]] = {
    "first": "a session's first call",
    "next": "a call with one round more",
    "again": "the same call again",
}


def charts(steps: Sequence[Step]) -> dict[str, str]:
    """A plot of each row, by what its file's name ends in."""
    tokens, messages, callers = (
        [step for step in steps if step.against == against] for against in ("tokens", "messages", "callers")
    )
    near = [step for step in tokens if step.value <= _NEAR_TOKENS]
    answered = tuple((float(step.value), step.per_second) for step in callers)
    return {
        "": _times("Time of a call against the size of its conversation", "tokens", tokens),
        "-budget": _times("The same around a budget of 50,000 tokens", "tokens", near),
        "-messages": _times("Time of a call against its messages", "messages", messages),
        "-callers": line_chart(
            "Calls a second against the calls under way at once",
            Axis("calls under way", 0, max(value for value, _ in answered), ",.0f"),
            Axis("calls a second", 0, max(rate for _, rate in answered), ",.0f"),
            [Curve("answered", answered)],
        ),
    }


def _times(title: str, cause: str, steps: Sequence[Step]) -> str:
    highest = max(step.ms(kind) for step in steps for kind in KINDS)
    return line_chart(
        title,
        Axis(cause, 0, max(step.value for step in steps), ",.0f"),
        Axis("milliseconds", 0, highest, ",.0f"),
        [Curve(_NAMES[kind], tuple((float(s.value), s.ms(kind)) for s in steps)) for kind in KINDS],
    )
