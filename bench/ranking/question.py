"""What a ranking is asked, and how good its answer is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """One query with its candidates.

    Attributes:
        query: What is asked for.
        candidates: The texts to rank.
        relevant: Positions of those that answer it.
    """

    query: str
    candidates: tuple[str, ...]
    relevant: frozenset[int]


def auc(scores: Sequence[float], relevant: frozenset[int]) -> float:
    """The probability that a relevant candidate scores above another one, ties counting half."""
    inside = [score for at, score in enumerate(scores) if at in relevant]
    outside = [score for at, score in enumerate(scores) if at not in relevant]
    won = sum((one > other) + 0.5 * (one == other) for one in inside for other in outside)
    return won / (len(inside) * len(outside))


def reciprocal_rank(scores: Sequence[float], relevant: frozenset[int]) -> float:
    """One over the rank of the first relevant candidate; among equals it stands in the middle."""
    best = max(scores[at] for at in relevant)
    above = sum(score > best for score in scores)
    level = sum(score == best for score in scores)
    return 1.0 / (above + (level + 1) / 2)
