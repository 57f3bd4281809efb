"""Quantiles of values that were only counted in groups."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf, isinf


def quantile(share: float, buckets: Sequence[tuple[float, float]]) -> float | None:
    """The value that a share of all observations does not exceed.

    Estimated as Prometheus' `histogram_quantile` does, from its documentation.

    Args:
        share: From 0 to 1.
        buckets: Upper bound and cumulative count of each, in ascending order, the last one unbounded.

    Returns:
        Interpolated within its bucket; the greatest finite bound where it lies beyond; None without any.
    """
    total = buckets[-1][1] if buckets else 0
    if not total:
        return None
    rank = share * total
    for (lower, below), (upper, count) in pairwise([(0.0, 0.0), *buckets]):
        if count >= rank and count > below:
            return lower if isinf(upper) else lower + (upper - lower) * (rank - below) / (count - below)
    return max((bound for bound, _ in buckets if bound < inf), default=None)
