"""The measurement: a pruner, budgets and a sample in; recall beside the reduction reached out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.recall.fan_out import Tick, fan_out
from bench.recall.needs import Sampled
from bench.recall.policies import Policy, policy
from bench.recall.shapes import Json
from bench.recall.survival import Outcome, judge

BUDGETS: Final = (0.25, 0.5, 0.75)
"""Budgets that are tried, as shares of the prefix."""
_DRAWS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Row:
    """One pruner at one budget, over all points.

    Attributes:
        policy: The pruner.
        budget_share: The budget, as a share of the prefix.
        recall: Mean over points of the share of needed identifiers that survive.
        low: Lower end of its 95% interval, conversations drawn with replacement.
        high: Upper end of that interval.
        pooled: Identifiers that survive, of all that are needed at any point.
        lines: Mean over the points that quote lines of the share that survives; None where none does.
        reduction: Mean over points of the share of the prefix's tokens that is removed.
        reduction_low: Lower end of its 95% interval.
        reduction_high: Upper end of that interval.
        budget_met: Share of points whose pruned prefix is within the budget.
        points: Points measured.
        line_points: Points that quote lines.
        conversations: Conversations they come from.
    """

    policy: str
    budget_share: float
    recall: float
    low: float
    high: float
    pooled: float
    lines: float | None
    reduction: float
    reduction_low: float
    reduction_high: float
    budget_met: float
    points: int
    line_points: int
    conversations: int


@dataclass(frozen=True, slots=True)
class Result:
    """What one pruner did.

    Attributes:
        policy: Its name.
        rows: One for each budget, in ascending order of the share.
        outcomes: Every pruned prefix behind them.
    """

    policy: str
    rows: tuple[Row, ...]
    outcomes: tuple[Outcome, ...]

    def at(self, budget_share: float) -> Row:
        """The row of one budget.

        Raises:
            KeyError: It was not measured.
        """
        for row in self.rows:
            if row.budget_share == budget_share:
                return row
        raise KeyError(budget_share)

    def recall_at(self, reduction: float) -> float | None:
        """Recall at a given reduction, on straight lines between the measured budgets.

        The line starts where nothing is removed and all survives. None beyond the greatest reduction.
        """
        return _between([(row.reduction, row.recall) for row in self.rows], reduction)

    def lines_at(self, reduction: float) -> float | None:
        """The same for quoted lines; None where no point quotes any, too."""
        return _between([(row.reduction, row.lines) for row in self.rows if row.lines is not None], reduction)


def _between(measured: Sequence[tuple[float, float]], reduction: float) -> float | None:
    if not measured:
        return None
    for (left, above), (right, below) in pairwise([(0.0, 1.0), *sorted(measured)]):
        if left <= reduction <= right:
            share = 0.0 if right == left else (reduction - left) / (right - left)
            return above + share * (below - above)
    return None


def measure(
    pruner: Policy | Callable[..., list[Json]],
    budgets: Sequence[float] = BUDGETS,
    sample: Sequence[Sampled] = (),
    *,
    jobs: int = 1,
) -> Result:
    """Measures one pruner: the way to sweep a parameter.

    Args:
        pruner: A policy, or any callable of messages and a budget in tokens.
        budgets: Budgets as shares of each prefix.
        sample: Where to measure, from `sample()`; make it once for a whole sweep.
        jobs: Processes.
    """
    tested = pruner if isinstance(pruner, Policy) else policy(getattr(pruner, "__name__", "pruner"), pruner)
    return measure_all([tested], budgets, sample, jobs=jobs)[0]


def measure_all(
    policies: Sequence[Policy],
    budgets: Sequence[float],
    sample: Sequence[Sampled],
    *,
    jobs: int = 1,
    tick: Tick = lambda: None,
) -> list[Result]:
    """Measures several pruners on the same points; `tick` is called after each conversation."""
    largest_first = sorted(sample, key=lambda sampled: -sampled.session.tokens * len(sampled.points))

    def work(sampled: Sampled) -> list[list[Outcome]]:
        return [_outcomes(tested, budgets, sampled) for tested in policies]

    by_conversation = fan_out(work, largest_first, jobs, tick)
    results = []
    for position, tested in enumerate(policies):
        outcomes = [outcome for conversation in by_conversation for outcome in conversation[position]]
        rows = tuple(
            _row(tested.name, share, [outcome for outcome in outcomes if outcome.budget_share == share])
            for share in sorted(budgets)
        )
        results.append(Result(tested.name, rows, tuple(outcomes)))
    return results


def _outcomes(tested: Policy, budgets: Sequence[float], sampled: Sampled) -> list[Outcome]:
    session = sampled.session
    outcomes = []
    for point in sampled.points:
        prefix = session.messages[: point.end]
        size = session.fixed_tokens + sum(session.sizes[: point.end])
        for share in budgets:
            budget = int(size * share)
            output = tested(prefix, budget, session.fixed_tokens)
            outcomes.append(judge(session, point, share, budget, output))
    return outcomes


def _row(name: str, share: float, outcomes: Sequence[Outcome]) -> Row:
    sessions = sorted({outcome.session for outcome in outcomes})
    recalls = np.array([kept / needed for needed, kept in (o.identifiers for o in outcomes)])
    reductions = np.array([1 - outcome.after / outcome.before for outcome in outcomes])
    owners = np.array([sessions.index(outcome.session) for outcome in outcomes])
    quoted = [kept / needed for needed, kept in (o.lines for o in outcomes) if needed]
    low, high = interval(recalls, owners, len(sessions))
    reduction_low, reduction_high = interval(reductions, owners, len(sessions))
    return Row(
        policy=name,
        budget_share=share,
        recall=float(recalls.mean()),
        low=low,
        high=high,
        pooled=sum(o.identifiers[1] for o in outcomes) / sum(o.identifiers[0] for o in outcomes),
        lines=sum(quoted) / len(quoted) if quoted else None,
        reduction=float(reductions.mean()),
        reduction_low=reduction_low,
        reduction_high=reduction_high,
        budget_met=sum(outcome.budget_met for outcome in outcomes) / len(outcomes),
        points=len(outcomes),
        line_points=len(quoted),
        conversations=len(sessions),
    )


def interval(values: NDArray[np.float64], owners: NDArray[np.intp], count: int) -> tuple[float, float]:
    """The 95% bootstrap interval of the mean over points, whole conversations drawn with replacement."""
    sums = np.bincount(owners, weights=values, minlength=count)
    sizes = np.bincount(owners, minlength=count)
    draws = np.random.default_rng(0).integers(0, count, size=(_DRAWS, count))
    means = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)
