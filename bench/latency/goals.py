"""Which figures of a run miss a goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.latency.load import Beside, Saturation
from bench.latency.ratios import Ratio

ONE: Final = "1 worker"
TWO: Final = "2 workers"
LEAST_CALLS: Final = 1.5
"""The least that two workers answer, as a multiple of one worker's calls."""
MOST_P99: Final = 0.35
"""The most that two workers' p99 of small calls beside a stream may be, as a share of one worker's."""
MOST_PLANNING: Final = 0.1
"""The most that the plan may take of the time of handling, at `PLANNING_TOKENS`."""
PLANNING_TOKENS: Final = 324_000


def is_ratio_missed(one: Ratio) -> bool:
    """Whether calls take too long beside their echoes."""
    return one.goal is not None and one.times.ratio > one.goal


def is_rate_missed(one: Saturation, loads: Sequence[Saturation]) -> bool:
    """Whether two workers answer too few calls beside one."""
    alone = lone(one, loads)
    return (
        one.server == TWO
        and alone is not None
        and one.calls_per_second < LEAST_CALLS * alone.calls_per_second
    )


def is_planning_missed(one: Saturation) -> bool:
    """Whether plans take too much of the time of handling."""
    return one.tokens == PLANNING_TOKENS and one.planning is not None and one.planning > MOST_PLANNING


def is_p99_missed(one: Beside, besides: Sequence[Beside]) -> bool:
    """Whether small calls wait too long with two workers."""
    alone = next((other for other in besides if other.server == ONE), None)
    return one.server == TWO and alone is not None and one.p99 > MOST_P99 * alone.p99


def lone(one: Saturation, loads: Sequence[Saturation]) -> Saturation | None:
    """The load of the same size that one worker had; None where there was none."""
    return next((other for other in loads if (other.server, other.tokens) == (ONE, one.tokens)), None)


def is_any_missed(figures: Mapping[str, Sequence[Any]]) -> bool:
    """Whether any figure of a run misses its goal."""
    loads, besides = figures["loads"], figures["besides"]
    return (
        any(map(is_ratio_missed, figures["ratios"]))
        or any(is_rate_missed(one, loads) or is_planning_missed(one) for one in loads)
        or any(is_p99_missed(one, besides) for one in besides)
    )
