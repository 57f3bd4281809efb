"""``python -m bench.growth``: whether a call's cost grows in step with what it is given, or faster.

Three rows of measurements over a running service: against the size of the conversation, against the number
of its messages at one size, and against the calls under way at once. Every call is timed for a session that
the service has not seen (`first`), and the same call once more (`again`).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from rich.box import MARKDOWN, SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.growth.bodies import of_messages, of_tokens
from bench.latency.report import machine
from bench.latency.servers import Measured, pinch_server, pinch_stub
from bench.recall.svg import Axis, Curve, line_chart
from pinch.v1 import prune_pb2 as pb

TOKENS: Final = (2_000, 8_000, 32_000, 125_000, 500_000, 1_000_000, 2_000_000, 4_000_000)
MESSAGES: Final = (11, 101, 1_001, 5_001, 20_001, 50_001)
CALLERS: Final = (1, 2, 4, 8, 16, 32, 64)
_CALLER_TOKENS: Final = 8_000
STEEPEST: Final = 1.25
"""The greatest exponent between neighbours that passes for linear: timing on a busy machine is no finer."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one point of a row cost.

    Attributes:
        against: `tokens`, `messages` or `callers`.
        value: How many.
        first_ms: A session's first call (milliseconds).
        again_ms: The same call once more (milliseconds).
        per_second: Calls answered in a second, where callers are varied.
    """

    against: str
    value: int
    first_ms: float
    again_ms: float
    per_second: float = 0.0


def exponents(steps: Sequence[Step]) -> list[float]:
    """How steeply the first calls' cost rises between neighbours: 1 is linear, 2 quadratic."""
    return [
        math.log(after.first_ms / before.first_ms) / math.log(after.value / before.value)
        for before, after in pairwise(steps)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the yardstick.

    Returns:
        0; 1 when a cost grows faster than its cause.
    """
    options = _parser().parse_args(argv)
    tokens = [one for one in TOKENS if one <= options.most_tokens]
    messages = [one for one in MESSAGES if one <= options.most_messages]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    steps: list[Step] = []
    with pinch_server() as server, Progress(*columns, console=Console(file=sys.stderr)) as progress:
        task = progress.add_task("measuring", total=len(tokens) + len(messages) + len(CALLERS))
        for value in tokens:
            steps.append(_one(server, "tokens", value, of_tokens, options.rounds))
            progress.advance(task)
        for value in messages:
            steps.append(_one(server, "messages", value, of_messages, options.rounds))
            progress.advance(task)
        for value in CALLERS:
            steps.append(_many(server, value, options.seconds))
            progress.advance(task)
    console = Console(highlight=False)
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
    rows = ([s for s in steps if s.against == name] for name in ("tokens", "messages"))
    # The smallest sizes are the wire's own cost, which does not grow at all.
    return int(any(max(exponents(row), default=0.0) > STEEPEST for row in rows))


def _one(
    server: Measured, against: str, value: int, make: Callable[[int, str], pb.PruneRequest], rounds: int
) -> Step:
    first: list[float] = []
    again: list[float] = []
    with pinch_stub(server.address) as prune:
        for number in range(rounds):
            request = make(value, f"{against} {number}")
            for times in (first, again):
                began = time.perf_counter()
                prune(request)
                times.append((time.perf_counter() - began) * 1e3)
    return Step(against, value, statistics.median(first), statistics.median(again))


def _many(server: Measured, callers: int, seconds: float) -> Step:
    times: list[float] = []
    until = time.perf_counter() + seconds

    def call(number: int) -> None:
        request = of_tokens(_CALLER_TOKENS, f"caller {number}")
        own: list[float] = []
        with pinch_stub(server.address) as prune:
            while (began := time.perf_counter()) < until:
                prune(request)
                own.append((time.perf_counter() - began) * 1e3)
        times.extend(own)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    middle = statistics.median(times) if times else math.nan
    return Step("callers", callers, middle, middle, len(times) / seconds)


def _table(steps: Sequence[Step], *, as_markdown: bool = False) -> Table:
    table = Table(box=MARKDOWN if as_markdown else SIMPLE_HEAD)
    for name in ("against", "value", "first ms", "again ms", "first us a unit", "exponent", "calls/s"):
        table.add_column(name, justify="left" if name == "against" else "right")
    before: Step | None = None
    for step in steps:
        comparable = before is not None and before.against == step.against != "callers"
        table.add_row(
            step.against,
            f"{step.value:,}",
            f"{step.first_ms:.4g}",
            f"{step.again_ms:.4g}",
            f"{step.first_ms * 1e3 / step.value:.3g}" if step.against != "callers" else "",
            f"{exponents([before, step])[0]:.2f}" if comparable and before is not None else "",
            f"{step.per_second:.0f}" if step.per_second else "",
        )
        before = step
    return table


def charts(steps: Sequence[Step]) -> dict[str, str]:
    """A plot of each row, by what its file's name ends in."""
    tokens, messages, callers = (
        [step for step in steps if step.against == against] for against in ("tokens", "messages", "callers")
    )
    answered = tuple((float(step.value), step.per_second) for step in callers)
    return {
        "": _times("Time of a call against the size of its conversation", "tokens", tokens),
        "-messages": _times("Time of a call against its messages", "messages", messages),
        "-callers": line_chart(
            "Calls a second against the calls under way at once",
            Axis("calls under way", 0, max(value for value, _ in answered), ",.0f"),
            Axis("calls a second", 0, max(rate for _, rate in answered), ",.0f"),
            [Curve("answered", answered)],
        ),
    }


def _times(title: str, cause: str, steps: Sequence[Step]) -> str:
    return line_chart(
        title,
        Axis(cause, 0, max(step.value for step in steps), ",.0f"),
        Axis("milliseconds", 0, max(max(step.first_ms, step.again_ms) for step in steps), ",.0f"),
        [
            Curve("a session's first call", tuple((float(s.value), s.first_ms) for s in steps)),
            Curve("the same call again", tuple((float(s.value), s.again_ms) for s in steps)),
        ],
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--most-tokens", type=int, default=TOKENS[-1], help="the largest size (4000000)")
    parser.add_argument("--most-messages", type=int, default=MESSAGES[-1], help="the longest list (50001)")
    parser.add_argument("--rounds", type=int, default=5, help="calls of each point (5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each number of callers (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table here")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the plots here and beside it")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
