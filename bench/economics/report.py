"""What the economics yardstick says, for people and for scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.economics.dollars import Pauses, call_dollars
from bench.economics.measure import CLASSES, Replayed, Row
from bench.economics.rates import Rates
from bench.recall.svg import Axis, Curve, line_chart

_COLUMNS: Final[Mapping[str, Callable[[Row], str]]] = {
    "$ pooled": lambda row: f"{row.pooled:+.0%}",
    "$ mean": lambda row: f"{row.mean:+.0%}",
    "<-25%": lambda row: f"{row.well_under:.0%}",
    ">+10%": lambda row: str(row.over),
    "worst": lambda row: f"{row.worst:+.0%}",
    "tokens": lambda row: f"{row.tokens:.0%}",
    "extend": lambda row: f"{row.extends:.3f}",
    "events": lambda row: f"{row.events:.1f}",
    "peak": lambda row: f"{row.peak:,}",
}
_WIDE: Final = 90
"""Terminals narrower than this leave some columns to the JSON (columns)."""
_WIDE_ONLY: Final = frozenset({"$ mean", "peak"})


def as_json(rows: Sequence[Row], budget_tokens: int, pauses: Pauses, seconds: float) -> dict[str, Any]:
    """Every figure of the tables."""
    return {
        "budget_tokens": budget_tokens,
        "pauses": asdict(pauses),
        "seconds": round(seconds, 2),
        "rows": [
            {
                name: round(value, 5) if isinstance(value, float) else value
                for name, value in asdict(row).items()
            }
            for row in rows
        ],
    }


def show(console: Console, rows: Sequence[Row], budget_tokens: int, seconds: float) -> None:
    """Prints a table for each class of models and of sessions."""
    console.print(f"Budget {budget_tokens:,} tokens; {seconds:.0f} s.", markup=False)
    for rates in dict.fromkeys(row.rates for row in rows):
        for _, _, size_class in reversed(CLASSES):
            group = [row for row in rows if row.rates == rates and row.size_class == size_class]
            if group:
                console.print(
                    _table(f"{rates}-class, {group[0].sessions} sessions {size_class}", group, console.width)
                )
    console.print(
        "$: input dollars against no pruning, pooled and mean over sessions; <-25%: share of sessions that "
        "much cheaper; >+10%: sessions that much dearer; worst: the dearest; tokens: shipped, against no "
        "pruning; extend: calls that begin with the whole call before; events: those that do not, a session; "
        "peak: largest call.",
        markup=False,
    )


def _table(title: str, rows: Sequence[Row], width: int) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        header_style="dim",
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=title,
        title_justify="left",
    )
    columns = [name for name in _COLUMNS if width >= _WIDE or name not in _WIDE_ONLY]
    table.add_column("policy", overflow="fold", min_width=16)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.policy, *(_COLUMNS[name](row) for name in columns))
    return table


def plot(replayed: Sequence[Replayed], session: str, rates: Rates, pauses: Pauses) -> str:
    """Dollars of each call of one session, one line for each policy, as SVG."""
    curves = []
    for one in replayed:
        if one.session == session:
            dollars = call_dollars(one.calls, rates, session, pauses)
            curves.append(Curve(one.policy, tuple(enumerate(dollars, 1)), marked=False))
    calls = max(len(curve.points) for curve in curves)
    dearest = max(value for curve in curves for _, value in curve.points)
    return line_chart(
        f"Input price of each call of one session, {rates.name}-class",
        Axis("call", 0, max(calls, 1), ".0f"),
        Axis("USD", 0.0, dearest, ".3f"),
        curves,
    )
