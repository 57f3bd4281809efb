"""What the demo shows, for people and for scripts."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.demo_run import DemoRun
from pinch import Measured, PruneStats, TrimAction

_STATS = (
    "original_tokens",
    "final_tokens",
    "tokens_saved",
    "summarized",
    "elided",
    "omitted",
    "capped",
    "candidates",
    "budget_met",
)
_MEASURED = ("tokens", "method", "error_bound")
_ACTIONS = {
    "elided": "cut down to an excerpt with marked gaps",
    "omitted": "replaced by one line that says what it hides",
    "capped": "recent ones that were outsized, cut down",
}
_NAMES = ("route", "ranking", "stability", "trim_style", "outcome")
_MEANINGS_FROM = 72
"""Width of a terminal, in columns, from which each figure is explained beside it."""


def as_json(run: DemoRun, source: str, size: int, seconds: float) -> dict[str, Any]:
    """Everything the tables show, under the names of the wire and of the database.

    Args:
        run: What was seen.
        source: Where the conversation came from.
        size: Bytes of the request body.
        seconds: Wall time of the whole demo.
    """
    stats, measured = run.pruned.stats, run.pruned.measured
    return {
        "conversation": {"source": source, "bytes": size, "bytes_after": len(run.pruned.body)},
        "decision_id": run.pruned.decision_id,
        "pruned": run.pruned.pruned,
        "unchanged_reason": run.pruned.reason,
        "persisted": run.pruned.persisted,
        "stats": {name: getattr(stats, name) for name in _STATS} if stats else None,
        "measured": {name: getattr(measured, name) for name in _MEASURED} if measured else None,
        "edits": len(run.pruned.edits),
        "row": dict(run.row),
        "metrics": [
            {"series": line.series, "before": line.before, "after": line.after, "change": line.change}
            for line in run.metrics
        ],
        "exit_status": run.exit_status,
        "seconds": {
            "start": round(run.start_seconds, 3),
            "call": round(run.call_seconds, 4),
            "row": round(run.row_seconds, 3),
            "stop": round(run.stop_seconds, 3),
            "all": round(seconds, 3),
        },
    }


def show(console: Console, run: DemoRun, source: str, size: int, seconds: float) -> None:
    """Prints the report: four short tables, each under a caption that says what it is."""
    _caption(console, "1. A server was started and a conversation was sent to it over gRPC")
    console.print(f"Conversation: {source}, {size:,} bytes.", markup=False)
    console.print(
        f"Server: ready on {run.grpc} after {run.start_seconds:.1f} s, every setting at its default, "
        f"decisions in {run.database.partition(':')[0]}.",
        markup=False,
    )
    became = "with old tool results shortened" if run.pruned.pruned else "as it was"
    _caption(console, f"2. What came back: the same conversation, {became}")
    console.print(_result(run, size, meanings=console.width >= _MEANINGS_FROM))
    console.print(f"Decision id: {run.pruned.decision_id}", markup=False)
    _caption(console, "3. Its row in the database (table prune_decisions; empty columns left out)")
    console.print(_row(run))
    console.print(f"It was there {run.row_seconds * 1000:,.0f} ms after the reply.", markup=False)
    if run.pruned.pruned and not any(map(run.row.get, ("elided", "omitted", "capped"))):
        console.print("It counts trims that this call made first: all of these follow from the history.")
    _caption(console, "4. The lines of /metrics that the call moved")
    console.print(_metrics(run))
    _caption(console, "5. The server was stopped")
    console.print(
        f"SIGTERM, exit status {run.exit_status} after {run.stop_seconds:.1f} s. "
        f"The whole demo took {seconds:.1f} s.",
        markup=False,
    )


def _caption(console: Console, words: str) -> None:
    console.print()
    console.print(Text(words, style="bold"))


def _result(run: DemoRun, size: int, *, meanings: bool) -> Table:
    pruned, stats, measured = run.pruned, run.pruned.stats, run.pruned.measured
    rows: list[tuple[str, str, str]] = []
    results = {
        (edit.message_index, edit.block_index): TrimAction.Name(edit.action)
        .removeprefix("TRIM_ACTION_")
        .lower()
        for edit in pruned.edits
    }
    if stats is not None:
        share = stats.tokens_saved / stats.original_tokens if stats.original_tokens else 0.0
        rows += [
            ("tokens before", f"{stats.original_tokens:,}", "estimated, tool definitions included"),
            ("tokens after", f"{stats.final_tokens:,}", _budget(run, stats)),
            ("tokens saved", f"{stats.tokens_saved:,}", f"{share:.0%} of what was sent"),
            ("results trimmed", f"{len(results):,}", _decided_when(stats)),
            *(
                (f"  {action}", f"{count:,}", _ACTIONS[action])
                for action, count in Counter(results.values()).items()
            ),
        ]
    if measured is not None:
        bound = f"tokens by {measured.method}; the true number is {_true_range(measured)}"
        rows.append(("measured size", f"{measured.tokens:,}", bound))
    rows.append(("edits", f"{len(pruned.edits):,}", "byte ranges that the client replaced"))
    rows.append(("bytes after", f"{len(pruned.body):,}", f"of {size:,}"))
    if not pruned.pruned:
        rows.append(("unchanged", str(pruned.reason), "why nothing was trimmed"))
    rows.append(("wall time", f"{run.call_seconds * 1000:,.1f} ms", "of this first call, client included"))
    table = _table("what", "value", *(["meaning"] if meanings else []))
    for row in rows:
        table.add_row(*(row if meanings else row[:2]))
    return table


def _budget(run: DemoRun, stats: PruneStats) -> str:
    budget: int = run.row["budget_tokens"]
    if stats.budget_met:
        return f"the budget of {budget:,} is met"
    over = f"{stats.final_tokens - budget:,} over the budget of {budget:,}"
    if stats.candidates or stats.summarized or not run.pruned.pruned:
        return over
    # Trims of earlier calls are replayed, and this call added none.
    return f"{over}: the next trims wait until they gain enough"


def _decided_when(stats: PruneStats) -> str:
    if stats.summarized:
        return f"{stats.summarized:,} of them for the first time, the others as earlier calls would have"
    return "as earlier calls would have: the plan replays the session"


def _true_range(measured: Measured) -> str:
    """What the error bound, which is relative to the truth, says about the truth."""
    least = measured.tokens / (1 + measured.error_bound)
    if measured.error_bound >= 1:
        return f"{least:,.0f} or more"
    return f"from {least:,.0f} to {measured.tokens / (1 - measured.error_bound):,.0f}"


def _row(run: DemoRun) -> Table:
    table = _table("column", "value")
    for column, value in run.row.items():
        if value is not None:
            table.add_row(column, _value(column, value))
    return table


def _value(column: str, value: Any) -> str:
    if column == "created_at" and isinstance(value, int):
        return datetime.fromtimestamp(value / 1_000_000, UTC).isoformat(timespec="milliseconds")
    # Names of the API are stored in capitals, the database's own in small letters.
    return value.lower() if column in _NAMES and isinstance(value, str) else str(value)


def _metrics(run: DemoRun) -> Table:
    table = _table("series", "before", "after")
    for line in run.metrics:
        table.add_row(_breakable(line.series), f"{line.before:,.6g}", f"{line.after:,.6g}")
    return table


def _breakable(series: str) -> str:
    """A series with blanks where a narrow terminal may break it; the page of metrics has none there."""
    return series.replace("{", " {").replace('",', '", ')


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for column in columns:
        right = column in ("before", "after")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    return table
