"""Processes that are killed, and more calls than the machine takes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import grpc

from bench.chaos.callers import Callers
from bench.chaos.helpers_gone import right_answers
from bench.chaos.probes import probing
from bench.chaos.row import Row, peak_memory, seen_row, settle, telling
from bench.running_server import RunningServer, running_server
from bench.torture.kills import survive, workers_of
from bench.torture.outages import outage
from pinch_server.rpc.asking import NotServingError, ask_health

_PAUSE_SECONDS = 1.0
_PATIENCE_SECONDS = 60.0
_MEASURE_SECONDS = 4.0
_TIMES = 3


def worker_killed(directory: Path, seconds: float) -> Row:
    """One of two workers is killed again and again."""
    state = directory / "state"
    state.mkdir()
    callers = Callers(threads=8)
    slowest, killed = 0.0, 0
    with running_server(state, "--workers", "2") as server:
        right = right_answers(server.grpc, "small")
        with callers.calling(server.grpc, "worker"):
            until = time.monotonic() + seconds
            while time.monotonic() < until or not killed:
                time.sleep(_PAUSE_SECONDS)
                os.kill(workers_of(server.process.pid)[killed % 2], signal.SIGKILL)
                killed += 1
                slowest = max(slowest, callers.recovery())
                _wait_for_both(server)
        row = seen_row("worker killed", callers.seen, right)
        row.metrics, row.memory = telling(server), peak_memory(server)
        url = server.database
        server.stop()
    row.recovery = slowest
    row.note = f"{killed} kills"
    return settle(row, callers.seen, state, url)


def _wait_for_both(server: RunningServer) -> None:
    """Waits until each worker takes calls on its own port again.

    Raises:
        TimeoutError: One does not.
    """
    until = time.monotonic() + _PATIENCE_SECONDS
    for own in server.workers:
        while True:
            try:
                ask_health(own, timeout=2)
                break
            except (NotServingError, OSError, grpc.RpcError):
                if time.monotonic() > until:
                    raise TimeoutError(f"{own} takes no calls after {_PATIENCE_SECONDS:g} s") from None
                time.sleep(0.05)


def overload(directory: Path, seconds: float) -> Row:
    """Three times as many calls a second as the service answers, each a megabyte to be trimmed."""
    state = directory / "state"
    state.mkdir()
    alone = Callers("large", threads=8)
    with running_server(state) as server:
        right = right_answers(server.grpc, "large")
        with alone.calling(server.grpc, "alone"):
            alone.wait_for(5)
            before, began = alone.seen.codes.total(), time.monotonic()
            time.sleep(_MEASURE_SECONDS)
            rate = (alone.seen.codes.total() - before) / (time.monotonic() - began)
        callers = Callers("large", threads=8, rate=_TIMES * rate, deadline=2.0)
        with callers.calling(server.grpc, "overload"), probing(server.grpc) as probes:
            time.sleep(seconds)
        after = Callers("small")
        with after.calling(server.grpc, "after"):
            recovery = after.recovery()
        row = seen_row("3x overload", callers.seen, right)
        row.metrics, row.memory = telling(server), peak_memory(server)
        url = server.database
        server.stop()
    row.recovery = recovery
    answered = sorted(callers.seen.milliseconds)
    middle = answered[len(answered) // 2] if answered else 0.0
    row.note = (
        f"{_TIMES * rate:.0f} calls/s where it takes {rate:.0f}; answered {len(answered) / seconds:.0f}/s,"
        f" half of them in {middle:.0f} ms"
    )
    probes.tell(row)
    callers.seen.acknowledged += after.seen.acknowledged + alone.seen.acknowledged
    row.acknowledged = len(callers.seen.acknowledged)
    return settle(row, callers.seen, state, url)


def torture(directory: Path, seconds: float) -> Row:
    """Services of two workers on PostgreSQL are killed, one process first and then all."""
    state = directory / "state"
    state.mkdir()
    kills = max(2, int(seconds // 5))
    with outage("postgresql", directory) as database:
        found = survive("postgresql", database, state, kills, calls=100, workers=2)
    return Row(
        "all killed, PostgreSQL, 2 workers",
        {"OK": found.acknowledged + found.unpersisted},
        unpersisted=found.unpersisted,
        acknowledged=found.acknowledged,
        missing=found.missing,
        doubled=found.doubled,
        is_well=not found.left,
        note=f"{kills} services and as many single workers; {found.torn} journals ended in half a line",
    )
