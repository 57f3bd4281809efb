"""What the recall yardstick says, for people and for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.recall.measure import Result

LIKE_REDUCTIONS: Final = (0.3, 0.42, 0.5, 0.6)
"""Reductions at which pruners are compared, as shares of the prefix."""


def as_json(results: Sequence[Result], source: str, seconds: float) -> dict[str, Any]:
    """Every figure of the tables, and those too wide for them."""
    return {
        "source": source,
        "seconds": round(seconds, 2),
        "rows": [
            {name: _rounded(value) for name, value in asdict(row).items()}
            for result in results
            for row in result.rows
        ],
        "recall_at_reduction": {
            result.policy: {f"{share:.2f}": _rounded(result.recall_at(share)) for share in LIKE_REDUCTIONS}
            for result in results
        },
    }


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def show(console: Console, results: Sequence[Result], source: str, seconds: float) -> None:
    """Prints the tables."""
    first = results[0].rows[0]
    console.print(
        f"{source}: {first.conversations} conversations of 30,000 tokens or more, {first.points} points, "
        f"{first.line_points} of them quoting lines; {seconds:.0f} s.",
        markup=False,
    )
    console.print(_measured(results))
    console.print(
        "recall: needed identifiers that survive (mean over points, 95% interval by conversation); lines: "
        "quoted lines that survive; removed: share of the prefix's tokens; met: points within the budget.",
        markup=False,
    )
    console.print(_alike(results))
    console.print(
        "The same on straight lines between budgets, from nothing removed and all kept; a dash: never "
        "removed as much.",
        markup=False,
    )


def _measured(results: Sequence[Result]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", overflow="fold")
    for name in ("budget", "recall", "95%", "lines", "removed", "met"):
        table.add_column(name, justify="right")
    shares = [row.budget_share for row in results[0].rows]
    for share in shares:
        for result in results:
            row = result.at(share)
            lines = "-" if row.lines is None else f"{row.lines:.3f}"
            table.add_row(
                result.policy,
                f"{share:.0%}",
                f"{row.recall:.3f}",
                f"{row.low:.3f}-{row.high:.3f}",
                lines,
                f"{row.reduction:.1%}",
                f"{row.budget_met:.0%}",
            )
        table.add_section()
    return table


def _alike(results: Sequence[Result]) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        header_style="dim",
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title="recall at like reduction",
    )
    table.add_column("policy", overflow="fold")
    for share in LIKE_REDUCTIONS:
        table.add_column(f"{share:.0%} removed", justify="right")
    for result in results:
        found = (result.recall_at(share) for share in LIKE_REDUCTIONS)
        table.add_row(result.policy, *("-" if value is None else f"{value:.3f}" for value in found))
    return table
