"""The rows as a table, on a terminal and in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.chaos.row import Row

_COLUMNS: Final = (
    "fault",
    "callers saw",
    "metrics said",
    "acknowledged",
    "missing",
    "doubled",
    "wrong",
    "memory (MiB)",
    "well again (s)",
    "note",
)
_NUMBERS: Final = frozenset(_COLUMNS[3:9])


def table(rows: Sequence[Row]) -> Table:
    """For a terminal."""
    made = Table(box=SIMPLE_HEAD, title="Faults and what came of them")
    for column in _COLUMNS:
        made.add_column(column, justify="right" if column in _NUMBERS else "left", overflow="fold")
    for row in rows:
        made.add_row(*_cells(row))
    return made


def markdown(rows: Sequence[Row]) -> str:
    """For a page."""
    lines = [f"| {' | '.join(_COLUMNS)} |"]
    lines.append("|" + "|".join("---:" if column in _NUMBERS else "---" for column in _COLUMNS) + "|")
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    saw = ", ".join(f"{code} {number:,}" for code, number in row.codes.items())
    if row.unpersisted:
        saw += f" ({row.unpersisted:,} of them `persisted=false`)"
    return [
        row.fault,
        saw or "-",
        ", ".join(f"{_short(name)} {value:,.0f}" for name, value in row.metrics.items()) or "-",
        f"{row.acknowledged:,}",
        f"{row.missing:,}",
        f"{row.doubled:,}",
        f"{row.wrong:,}",
        f"{row.memory:,.0f}" if row.memory else "-",
        "-" if row.recovery is None else f"{row.recovery:.2f}",
        row.note,
    ]


def _short(name: str) -> str:
    """A series without what every reader knows."""
    bare, _, labels = name.partition("{")
    values = "/".join(re.findall(r'"([^"]*)"', labels.replace("pinch.v1.PruneService", "")))
    return f"`{bare}`" + (f" {values.strip('/')}" if values.strip("/") else "")
