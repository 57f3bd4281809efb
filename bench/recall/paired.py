"""Two pruners on the same points: how far one is above the other, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.recall.measure import Result, interval
from bench.recall.survival import Outcome

Figure = Callable[[Outcome], float | None]
"""One figure of a pruned prefix; None where it has none."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference over points.

    Attributes:
        mean: How far the one is above the other.
        low: Lower end of the 95% interval, conversations drawn with replacement.
        high: Upper end of that interval.
    """

    mean: float
    low: float
    high: float


def _share(counted: tuple[int, int]) -> float | None:
    needed, kept = counted
    return kept / needed if needed else None


FIGURES: Final[dict[str, Figure]] = {
    "recall": lambda outcome: _share(outcome.identifiers),
    "lines": lambda outcome: _share(outcome.lines),
    "removed": lambda outcome: 1 - outcome.after / outcome.before,
}
"""What is compared, by the name of its column."""


def difference(one: Result, other: Result, budget_share: float, figure: Figure) -> Difference | None:
    """How far one pruner is above another at one budget, point by point; None where no point has the figure.

    Both must come from the same measurement.
    """
    pairs = [
        (first.session, above - below)
        for first, second in zip(one.outcomes, other.outcomes, strict=True)
        if first.budget_share == budget_share
        and (above := figure(first)) is not None
        and (below := figure(second)) is not None
    ]
    if not pairs:
        return None
    sessions = sorted({session for session, _ in pairs})
    values = np.array([value for _, value in pairs])
    owners = np.array([sessions.index(session) for session, _ in pairs])
    low, high = interval(values, owners, len(sessions))
    return Difference(float(values.mean()), low, high)
