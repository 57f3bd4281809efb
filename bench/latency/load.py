"""Many calls at once: how many a second, what each costs the server, and small ones beside a big stream."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any

from bench.latency.payloads import Call, GrowingSession
from bench.latency.servers import Measured, echo_stub, pinch_stub
from bench.latency.stream import streaming
from bench.scrape import moved, scrape

_SMALL_TOKENS = 3_000
_WARM_TOKENS = 50_000
_CALLS = 22
"""Calls of a session before it is told anew: the middle of real agents' sessions."""
_HANDLING = "grpc_server_handling_seconds_sum"
_PLANNING = 'pinch_stage_seconds_sum{stage="plan"}'


@dataclass(frozen=True, slots=True)
class Saturation:
    """What a server does when there is always another call.

    Attributes:
        server: Which: `echo`, or the number of workers.
        tokens: Size of each conversation (tokens).
        callers: Calls under way at once.
        calls_per_second: Answered in a second.
        cpu_ms: Processor time of the server for each call, its workers' and its journal's included.
        caller_ms: Processor time of the callers for each call.
        planning: Share of the time of handling calls that went into the plan (0 to 1); None of the echo.
    """

    server: str
    tokens: int
    callers: int
    calls_per_second: float
    cpu_ms: float
    caller_ms: float
    planning: float | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """Small calls while another client streams calls of a million tokens.

    Attributes:
        server: The number of workers.
        calls: Small calls timed.
        p50: Their middle (milliseconds).
        p99: What one of a hundred took longer than (milliseconds).
    """

    server: str
    calls: int
    p50: float
    p99: float


def a_session(tokens: int, name: str, steps: int = _CALLS) -> list[Call]:
    """The last calls of one session in the body form, with edits as the reply."""
    return list(GrowingSession(tokens, steps).calls(name, "body", "edits"))


def warm(measured: Measured, seconds: float) -> None:
    """Calls a service for some seconds: a process brings in what it needs at its first calls, and settles."""
    until = time.perf_counter() + seconds
    with ExitStack() as stack:
        send = _sender(stack, "pinch", measured)
        for number in count():
            for one in a_session(_WARM_TOKENS, f"warm {number}"):
                if time.perf_counter() >= until:
                    return
                send(one)


def saturate(server: str, measured: Measured, tokens: int, callers: int, seconds: float) -> Saturation:
    """Keeps a server busy for some seconds; each caller has a session and a connection of its own."""
    sessions = [a_session(tokens, f"{server} {number}") for number in range(callers)]
    with ExitStack() as stack:
        senders = [_sender(stack, server, measured) for _ in sessions]
        for send, session in zip(senders, sessions, strict=True):
            send(session[0])
        before, own, page = measured.cpu_seconds(), time.process_time(), _page(measured)
        until = time.perf_counter() + seconds
        done: list[int] = []

        def call(send: Callable[[Call], Any], session: Sequence[Call]) -> None:
            number = 0
            for one in cycle(session):
                if time.perf_counter() >= until:
                    break
                send(one)
                number += 1
            done.append(number)

        _run(call, list(zip(senders, sessions, strict=True)))
        calls = sum(done)
        own_ms = (time.process_time() - own) * 1e3 / calls
        spent_ms = (measured.cpu_seconds() - before) * 1e3 / calls
        planning = _planning(page, _page(measured))
    return Saturation(server, tokens, callers, calls / seconds, spent_ms, own_ms, planning)


def beside(server: str, measured: Measured, calls: int) -> Beside:
    """Times small calls, one after another, while another process streams big ones without a pause."""
    small = a_session(_SMALL_TOKENS, "small")
    times: list[float] = []
    with ExitStack() as stack:
        send = _sender(stack, server, measured)
        send(small[0])
        stack.enter_context(streaming(measured.address))
        for one, _ in zip(cycle(small), range(calls), strict=False):
            began = time.perf_counter()
            send(one)
            times.append((time.perf_counter() - began) * 1e3)
    times.sort()
    return Beside(server, len(times), times[len(times) // 2], times[len(times) * 99 // 100])


def resident_after(measured: Measured, calls: int, callers: int, done: Callable[[], None]) -> list[float]:
    """Memory held after a tenth of the calls, and after each further tenth (MiB)."""
    sessions = [a_session(50_000, f"memory {number}", 4) for number in range(callers)]
    held: list[float] = []
    with ExitStack() as stack:
        senders = [_sender(stack, "pinch", measured) for _ in sessions]

        def call(send: Callable[[Call], Any], session: Sequence[Call]) -> None:
            for one, _ in zip(cycle(session), range(calls // callers // 10), strict=False):
                send(one)

        for _ in range(10):
            _run(call, list(zip(senders, sessions, strict=True)))
            held.append(measured.resident_mib())
            done()
    return held


def _page(measured: Measured) -> str:
    return scrape(measured.http) if measured.http else ""


def _planning(before: str, after: str) -> float | None:
    """The plan's share of the time that calls of Prune were handled for, between two pages of metrics."""
    spent = {one.series: one.change for one in moved(before, after)}
    handling = sum(time for name, time in spent.items() if name.startswith(_HANDLING) and "Prune" in name)
    return spent.get(_PLANNING, 0.0) / handling if handling else None


def _sender(stack: ExitStack, server: str, measured: Measured) -> Callable[[Call], Any]:
    if server == "echo":
        echo = stack.enter_context(echo_stub(measured.address))
        return lambda call: echo(call.payload)
    prune = stack.enter_context(pinch_stub(measured.address))
    return lambda call: prune(call.request)


def _run(work: Callable[..., object], arguments: Sequence[tuple[Any, ...]]) -> None:
    threads = [threading.Thread(target=work, args=some) for some in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
