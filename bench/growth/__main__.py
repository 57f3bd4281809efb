"""``python -m bench.growth``: whether a call's cost grows in step with what it is given, or faster.

Three rows of measurements over a running service: against the size of the conversation, against the number
of its messages at one size, and against the calls under way at once. Three kinds of calls are timed: one of a
session that the service has not seen (`first`), the same call once more (`again`), and a call with one round
more than the one before it (`next`). It ends with 1 where a cost grows faster than its cause, and says where.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from rich.box import MARKDOWN, SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.growth.bodies import MESSAGES_TOKENS, Messages, growing, of_messages, of_tokens, request
from bench.growth.charts import charts
from bench.growth.steps import Step, exponent, faults
from bench.latency.report import machine
from bench.latency.servers import Measured, pinch_server, pinch_stub
from pinch.v1 import prune_pb2 as pb

TOKENS: Final = (
    *(2_000, 8_000, 24_000, 48_000),
    *(64_000, 125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000),
)
MESSAGES: Final = (11, 101, 1_001, 5_001, 20_001, 50_001)
CALLERS: Final = (1, 2, 4, 8, 16, 32, 64)
_CALLER_TOKENS: Final = 8_000
_WARM_TOKENS: Final = 125_000
_SLICES: Final = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the yardstick.

    Returns:
        0; 1 when a cost grows faster than its cause.
    """
    options = _parser().parse_args(argv)
    steps = _measured(options)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 130)
    console.print(machine())
    console.print(_table(steps))
    if options.json:
        options.json.write_text(json.dumps([asdict(step) for step in steps], indent=2) + "\n")
    if options.markdown:
        with options.markdown.open("w") as file:
            Console(file=file, width=160, highlight=False).print(_table(steps, as_markdown=True))
    if options.svg:
        for name, chart in charts(steps).items():
            options.svg.with_stem(options.svg.stem + name).write_text(chart)
    found = faults(steps)
    for fault in found:
        console.print(fault)
    return int(bool(found))


def _measured(options: argparse.Namespace) -> list[Step]:
    """Every point, in rounds over the whole of its row: what changes meanwhile changes for all of them."""
    sizes = [_Point("tokens", one, one, of_tokens(one)) for one in TOKENS if one <= options.most_tokens]
    lengths = [
        _Point("messages", one, MESSAGES_TOKENS, of_messages(one))
        for one in MESSAGES
        if one <= options.most_messages
    ]
    rates: dict[int, list[tuple[float, float]]] = {callers: [] for callers in CALLERS}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with pinch_server() as server, Progress(*columns, console=Console(file=sys.stderr)) as progress:
        points = (len(sizes) + len(lengths)) * options.rounds
        task = progress.add_task("measuring", total=points + len(CALLERS) * _SLICES)
        _warm(server)
        for row in (sizes, lengths):
            for number in range(options.rounds):
                for point in row:
                    point.measure(server, f"{point.against} {number}")
                    progress.advance(task)
        for _ in range(_SLICES):
            for callers, found in rates.items():
                found.append(_many(server, callers, options.seconds / _SLICES))
                progress.advance(task)
    steps = [point.step() for point in (*sizes, *lengths)]
    for callers, found in rates.items():
        middle, per_second = map(statistics.median, zip(*found, strict=True))
        steps.append(Step("callers", callers, _CALLER_TOKENS, middle, middle, middle, per_second))
    return steps


@dataclass(slots=True)
class _Point:
    """One point of a row, and the times that were measured of it so far (milliseconds)."""

    against: str
    value: int
    tokens: int
    said: Messages
    first: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)

    def measure(self, server: Measured, name: str) -> None:
        """Calls for two sessions: one that is there at once and called again, and one that grows."""
        with pinch_stub(server.address) as prune:

            def timed(call: pb.PruneRequest, times: list[float]) -> None:
                began = time.perf_counter()
                prune(call)
                times.append((time.perf_counter() - began) * 1e3)

            whole = request(self.said, name)
            timed(whole, self.first)
            timed(whole, self.again)
            shortest, *longer = (request(some, f"grown {name}") for some in growing(self.said))
            prune(shortest)
            for call in longer:
                timed(call, self.after)

    def step(self) -> Step:
        """The middle of its times."""
        times = map(statistics.median, (self.first, self.after, self.again))
        return Step(self.against, self.value, self.tokens, *times)


def _warm(server: Measured) -> None:
    """The first calls of a process are dearer than any later ones."""
    said = of_tokens(_WARM_TOKENS)
    with pinch_stub(server.address) as prune:
        for number in range(3):
            prune(request(said, f"warm {number}"))


def _many(server: Measured, callers: int, seconds: float) -> tuple[float, float]:
    """The middle of so many callers' times (milliseconds), and the calls answered in a second."""
    times: list[float] = []
    said = of_tokens(_CALLER_TOKENS)
    until = time.perf_counter() + seconds

    def call(number: int) -> None:
        one = request(said, f"caller {number}")
        own: list[float] = []
        with pinch_stub(server.address) as prune:
            while (began := time.perf_counter()) < until:
                prune(one)
                own.append((time.perf_counter() - began) * 1e3)
        times.extend(own)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statistics.median(times) if times else math.nan, len(times) / seconds


def _table(steps: Sequence[Step], *, as_markdown: bool = False) -> Table:
    table = Table(box=MARKDOWN if as_markdown else SIMPLE_HEAD)
    for name in ("against", "value", "first ms", "us a unit", "exponent", "next ms", "again ms", "calls/s"):
        table.add_column(name, justify="left" if name == "against" else "right")
    before: Step | None = None
    for step in steps:
        is_callers = step.against == "callers"
        is_comparable = before is not None and before.against == step.against and not is_callers
        table.add_row(
            step.against,
            f"{step.value:,}",
            f"{step.first_ms:.4g}",
            "" if is_callers else f"{step.first_ms * 1e3 / step.value:.3g}",
            _steepness(before, step) if is_comparable and before is not None else "",
            "" if is_callers else f"{step.next_ms:.4g}",
            "" if is_callers else f"{step.again_ms:.4g}",
            f"{step.per_second:.0f}" if is_callers else "",
        )
        before = step
    return table


def _steepness(before: Step, after: Step) -> str:
    return f"{exponent(before, after):.2f}" if before.is_over is after.is_over else "pruning begins"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--most-tokens", type=int, default=TOKENS[-1], help="the largest size (4000000)")
    parser.add_argument("--most-messages", type=int, default=MESSAGES[-1], help="the longest list (50001)")
    parser.add_argument("--rounds", type=int, default=7, help="calls of each point (7)")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each number of callers (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table here")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the plots here and beside it")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
