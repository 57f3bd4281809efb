"""``python -m bench.persistence``: what keeping decisions costs a small call, on SQLite and PostgreSQL.

Services with persistence off, on SQLite and on PostgreSQL are called in turn, in one run, so that what
else the machine does falls on all of them alike. "Off" is the same service without its recorder. They
are started anew several times: two processes of the same service differ by some hundredths, as their
memory happens to lie.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import grpc
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.databases import NoDatabaseError, empty_database
from bench.running_server import running_server
from bench.torture.load import a_request
from pinch.v1.prune_pb2_grpc import PruneServiceStub

OFF: Final = "off"
GOALS: Final = {"sqlite": (1.10, 0.9), "postgresql": (1.10, 0.8)}
"""For each database the most its p50 may be against off, and the least its calls a second."""
_THREADS: Final = 8


@dataclass(frozen=True, slots=True)
class Cost:
    """One way of keeping decisions.

    Attributes:
        kept: `off`, `sqlite` or `postgresql`.
        p50_ms: The middle of all calls, one at a time (milliseconds).
        p99_ms: What one of a hundred took longer than (milliseconds).
        calls_per_second: With several callers at once.
        p50_ratio: The middle of the rounds' p50 against off in the same round.
        calls_ratio: The middle of the rounds' calls a second against off in the same round.
    """

    kept: str
    p50_ms: float
    p99_ms: float
    calls_per_second: float
    p50_ratio: float
    calls_ratio: float


@dataclass(slots=True)
class _Measured:
    seconds: list[list[float]]
    rates: list[float]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the yardstick.

    Returns:
        0; 1 when a goal is missed; 2 when there is no PostgreSQL here.
    """
    options = _parser().parse_args(argv)
    measured = {kept: _Measured([], []) for kept in (OFF, *GOALS)}
    console = Console(file=sys.stderr)
    try:
        for _ in track(range(options.starts), "starts", console=console):
            with _services(list(GOALS)) as addresses:
                _measure(addresses, options.rounds, options.calls, options.seconds, measured)
    except NoDatabaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    costs = [_cost(kept, measured) for kept in measured]
    Console(highlight=False, width=None if sys.stdout.isatty() else 110).print(_table(costs))
    if options.json:
        options.json.write_text(
            json.dumps({"goals": GOALS, "costs": list(map(asdict, costs))}, indent=2) + "\n"
        )
    return int(not all(_meets(cost) for cost in costs))


@contextmanager
def _services(kinds: Sequence[str]) -> Iterator[dict[str, str]]:
    """A service without persistence and one for each kind of database, by name."""
    with ExitStack() as stack:
        addresses = {}
        for kept in (OFF, *kinds):
            state = Path(stack.enter_context(TemporaryDirectory(prefix="pinch-bench-")))
            if kept == OFF:
                running = running_server(state, module="bench.unrecorded")
            else:
                url = stack.enter_context(empty_database(kept))
                running = running_server(state, "--database-url", url)
            addresses[kept] = stack.enter_context(running).grpc
        yield addresses


def _measure(
    addresses: dict[str, str], rounds: int, calls: int, seconds: float, measured: dict[str, _Measured]
) -> None:
    with ExitStack() as stack:
        stubs = {
            kept: PruneServiceStub(stack.enter_context(grpc.insecure_channel(address)))
            for kept, address in addresses.items()
        }
        for stub in stubs.values():
            _time_calls(stub, calls)
        for turn in range(rounds):
            # Each round begins with another, so that none always follows the same.
            order = list(stubs)[turn % len(stubs) :] + list(stubs)[: turn % len(stubs)]
            for kept in order:
                measured[kept].seconds.append(_time_calls(stubs[kept], calls))
            for kept in order:
                measured[kept].rates.append(_calls_per_second(addresses[kept], seconds))


def _time_calls(stub: PruneServiceStub, calls: int) -> list[float]:
    request = a_request()
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        stub.Prune(request)
        times.append(time.perf_counter() - began)
    return times


def _calls_per_second(address: str, seconds: float) -> float:
    done = []
    began = time.perf_counter()
    until = began + seconds

    def call() -> None:
        request, number = a_request(), 0
        with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = PruneServiceStub(channel)
            # One at least: on a busy machine the time may be over before a thread is there.
            while not number or time.perf_counter() < until:
                stub.Prune(request)
                number += 1
        done.append(number)

    threads = [threading.Thread(target=call) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - began)


def _cost(kept: str, measured: dict[str, _Measured]) -> Cost:
    own, off = measured[kept], measured[OFF]
    every = sorted(second for some in own.seconds for second in some)
    return Cost(
        kept=kept,
        p50_ms=statistics.median(every) * 1e3,
        p99_ms=every[len(every) * 99 // 100] * 1e3,
        calls_per_second=statistics.median(own.rates),
        p50_ratio=statistics.median(
            statistics.median(one) / statistics.median(other)
            for one, other in zip(own.seconds, off.seconds, strict=True)
        ),
        calls_ratio=statistics.median(one / other for one, other in zip(own.rates, off.rates, strict=True)),
    )


def _meets(cost: Cost) -> bool:
    most, least = GOALS.get(cost.kept, (1.0, 1.0))
    return cost.p50_ratio <= most and cost.calls_ratio >= least


def _table(costs: Sequence[Cost]) -> Table:
    table = Table(box=SIMPLE_HEAD, title=f"A small call with decisions kept ({os.cpu_count()} processors)")
    for column in ("kept", "p50 ms", "p99 ms", "calls/s", "p50 x off", "goal", "calls/s x off", "goal"):
        table.add_column(column, justify="left" if column == "kept" else "right")
    for one in costs:
        most, least = (
            (f"<= {GOALS[one.kept][0]}", f">= {GOALS[one.kept][1]}") if one.kept in GOALS else ("", "")
        )
        table.add_row(
            one.kept,
            f"{one.p50_ms:.2f}",
            f"{one.p99_ms:.2f}",
            f"{one.calls_per_second:.0f}",
            f"{one.p50_ratio:.2f}",
            most,
            f"{one.calls_ratio:.2f}",
            least,
        )
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.persistence", description=__doc__)
    parser.add_argument("--starts", type=int, default=12, help="how often the services are started (12)")
    parser.add_argument("--rounds", type=int, default=3, help="of each start, with all services in turn (3)")
    parser.add_argument("--calls", type=int, default=200, help="one at a time, in each round (200)")
    parser.add_argument("--seconds", type=float, default=1.0, help="with several callers, in each round (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
