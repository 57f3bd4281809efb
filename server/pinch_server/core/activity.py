"""What the calls of many hours did, as one column of numbers for each thing that is looked at."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import Any, Final

from pinch_server.core.insight import ActivityHour
from pinch_server.core.quantiles import quantile

MOST_TOOLS: Final = 20
"""The most tools that are told."""
_TOOL: Final = "tool_"
HOUR_US: Final = 3_600_000_000
"""An hour (microseconds)."""
COUNTED: Final = (
    *(
        "calls",
        "pruned_calls",
        "tokens_before",
        "tokens_after",
        "tokens_saved",
        "elided",
        "omitted",
        "capped",
    ),
    *("ranking_hybrid", "ranking_cosine", "ranking_lexical", "ranking_uniform", "ranking_not_needed"),
)
"""The columns that are plain counts."""
LATENCY_BOUNDS_US: Final = (
    *(250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000),
    *(60_000, 120_000, 250_000, 500_000, 1_000_000),
)
"""Upper bounds of the groups that calls are counted in by the time they took (microseconds)."""


def tools(hours: Sequence[ActivityHour]) -> dict[str, int]:
    """Results that were trimmed for the first time, by the tool they are of; the most first."""
    found: Counter[str] = Counter()
    for hour in hours:
        for name, count in hour.counts.items():
            if name.startswith(_TOOL):
                found[name.removeprefix(_TOOL)] += count
    return dict(found.most_common(MOST_TOOLS))


def columns(hours: Sequence[ActivityHour], now: int) -> dict[str, list[Any]]:
    """Every hour from the first with a call until now, those without calls included.

    Args:
        hours: The hours with calls, in their order.
        now: Microseconds since the Unix epoch.

    Returns:
        `start`, when each hour began (seconds since the Unix epoch); the counts of `COUNTED`; `prefix_match`,
        the share of messages that stood unchanged in the session's next payload, from 0 to 1;
        `latency_median_ms` and `latency_p95_ms` (milliseconds). The last three are None in an hour that says
        nothing of them.
    """
    if not hours:
        starts: range = range(0)
    else:
        starts = range(hours[0].start, max(now, hours[-1].start) + 1, HOUR_US)
    by_start = {hour.start: hour.counts for hour in hours}
    nothing: Mapping[str, int] = {}
    each = [by_start.get(start, nothing) for start in starts]
    found: dict[str, list[Any]] = {"start": [start // 1_000_000 for start in starts]}
    for name in COUNTED:
        found[name] = [counts.get(name, 0) for counts in each]
    found["prefix_match"] = [_share(counts) for counts in each]
    buckets = [_latencies(counts) for counts in each]
    found["latency_median_ms"] = [_ms(quantile(0.5, some)) for some in buckets]
    found["latency_p95_ms"] = [_ms(quantile(0.95, some)) for some in buckets]
    return found


def _share(counts: Mapping[str, int]) -> float | None:
    previous = counts.get("previous_messages", 0)
    return round(counts.get("matched_messages", 0) / previous, 4) if previous else None


def _latencies(counts: Mapping[str, int]) -> list[tuple[float, float]]:
    """Upper bound and cumulative count of each group of calls by the time they took (microseconds)."""
    found = [counts.get(f"latency_us_{bound}", 0) for bound in (*LATENCY_BOUNDS_US, "inf")]
    return list(zip((*LATENCY_BOUNDS_US, inf), accumulate(found), strict=True))


def _ms(microseconds: float | None) -> float | None:
    return None if microseconds is None else round(microseconds / 1000, 3)
