"""``python -m bench.savings``: GetSavings over five million decisions, on SQLite and PostgreSQL."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sqlalchemy import Engine, event, text

from bench.databases import KINDS, NoDatabaseError, empty_database
from bench.savings.rows import load, rows
from pinch_server.core.insight import SavingsQuery
from pinch_server.core.savings import Objective, savings
from pinch_server.store.engine import open_engine
from pinch_server.store.rollup import RollUp
from pinch_server.store.savings import saved_tokens

GOAL_MS: Final = 200
_GRACE: Final = 300_000_000
_QUESTIONS: Final[dict[str, dict[str, Any]]] = {
    "all, 30 days": {},
    "one model": {"model": "gpt-5.2"},
    "one route and format": {"route": "PASSTHROUGH", "format": "anthropic"},
    "all, 7 days": {"window_days": 7},
    "all, 1 day": {"window_days": 1},
}


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one question took.

    Attributes:
        database: Which kind.
        question: What was asked.
        first_ms: The first time (milliseconds).
        median_ms: The middle of all times.
        worst_ms: The longest.
        calls: Calls that counted.
    """

    database: str
    question: str
    first_ms: float
    median_ms: float
    worst_ms: float
    calls: int


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the yardstick.

    Returns:
        0; 1 when a median is over the goal; 2 when there is no such database here.
    """
    options = _parser().parse_args(argv)
    width = None if sys.stdout.isatty() else 110
    console = Console(highlight=False, width=width, soft_wrap=True)
    timings: list[Timing] = []
    try:
        for kind in options.databases:
            with empty_database(kind) as url:
                timings += _measure(kind, url, options.rows, options.repeat, console)
    except NoDatabaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    console.print(_table(timings, options.rows))
    if options.json:
        report = {"rows": options.rows, "goal_ms": GOAL_MS, "timings": list(map(asdict, timings))}
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return int(any(timing.median_ms > GOAL_MS for timing in timings))


def _measure(kind: str, url: str, number: int, repeat: int, console: Console) -> list[Timing]:
    end = time.time_ns() // 1000
    engine = open_engine(url)
    try:
        with _progress(f"{kind}: rows", number) as tick:
            load(engine, rows(number, end), tick)
        began = time.perf_counter()
        work = RollUp(engine, grace_us=_GRACE)
        periods = list(work.missing(end))
        with _progress(f"{kind}: hours and days", len(periods)) as tick:
            for length, start in periods:
                work.add_up(length, start)
                tick(1)
        seconds = time.perf_counter() - began
        console.print(f"{kind}: {len(periods)} hours and days of {number:,} rows added up in {seconds:.1f} s")
        if engine.dialect.name == "postgresql":
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
                plain.execute(text("VACUUM ANALYZE"))
        timings = [
            _time(kind, engine, end, question, chosen, repeat) for question, chosen in _QUESTIONS.items()
        ]
        _show_plans(kind, engine, end, console)
        return timings
    finally:
        engine.dispose()


def _ask(engine: Engine, now: int, chosen: dict[str, Any]) -> int:
    query = SavingsQuery(now, **({"window_days": 30} | chosen))
    found = saved_tokens(engine, query, grace_us=_GRACE)
    today = datetime.now(UTC).date()
    return savings(found.sums, found.median, Objective(), window_days=query.window_days, today=today).calls


def _time(kind: str, engine: Engine, now: int, question: str, chosen: dict[str, Any], repeat: int) -> Timing:
    times = []
    calls = 0
    for _ in range(repeat):
        began = time.perf_counter()
        calls = _ask(engine, now, chosen)
        times.append((time.perf_counter() - began) * 1e3)
    return Timing(kind, question, times[0], statistics.median(times), max(times), calls)


def _show_plans(kind: str, engine: Engine, now: int, console: Console) -> None:
    """Prints how the database answers each statement of one question."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        asked.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    _ask(engine, now, {})
    event.remove(engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN " if kind == "sqlite" else "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "
    with engine.connect() as connection:
        for statement, parameters in asked:
            console.print(f"\n{kind}: {' '.join(statement.split())[:150]} …", markup=False, style="dim")
            for row in connection.exec_driver_sql(explain + statement, parameters):
                console.print(f"    {row[-1]}", markup=False)


def _table(timings: Sequence[Timing], number: int) -> Table:
    table = Table(box=SIMPLE_HEAD, title=f"GetSavings over {number:,} decisions (goal: {GOAL_MS} ms)")
    for column in ("database", "question", "first ms", "median ms", "worst ms", "calls"):
        table.add_column(column, justify="left" if column in ("database", "question") else "right")
    for one in timings:
        times = (f"{ms:.1f}" for ms in (one.first_ms, one.median_ms, one.worst_ms))
        table.add_row(one.database, one.question, *times, f"{one.calls:,}")
    return table


@contextmanager
def _progress(title: str, total: int) -> Iterator[Any]:
    with Progress(console=Console(file=sys.stderr)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda steps: bar.update(task, advance=steps)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.savings", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, help="decisions (5,000,000)")
    parser.add_argument(
        "--databases", nargs="+", choices=KINDS, default=list(KINDS), help="which kinds (both)"
    )
    parser.add_argument("--repeat", type=int, default=15, help="how often each question is asked (15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
