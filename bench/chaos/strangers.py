"""Callers that misbehave, beside callers that do not: the latter must hardly notice."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import grpc

from bench.chaos.callers import Callers, request_of
from bench.chaos.helpers_gone import right_answers
from bench.chaos.probes import probing
from bench.chaos.row import Row, peak_memory, seen_row, settle, telling
from bench.running_server import running_server
from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub

_PRUNE = "/pinch.v1.PruneService/Prune"
_HEALTH = "/grpc.health.v1.Health/Check"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_BIG_BYTES = 65 * 1024 * 1024
_CONNECTIONS = 200
_SILENT = 200

Misbehaviour = Callable[[str, threading.Event, Counter[str]], None]
"""Misbehaves towards an address until told to stop, and counts what came of it."""


def slow_clients(directory: Path, seconds: float) -> Row:
    """Calls of Prune and of Health that begin and never send their message, from clients that then vanish."""
    return _beside("slow and vanishing clients", _silent_and_gone, directory, seconds)


def connections(directory: Path, seconds: float) -> Row:
    """Many connections, each with calls."""
    return _beside(f"{_CONNECTIONS} connections", _many_connections, directory, seconds)


def malformed(directory: Path, seconds: float) -> Row:
    """Bytes that are no HTTP/2, frames that break it, and connections cut in the middle."""
    return _beside("malformed HTTP/2", _malformed, directory, seconds)


def huge_messages(directory: Path, seconds: float) -> Row:
    """Messages one MiB above the limit."""
    return _beside("65 MiB messages", _huge, directory, seconds)


def _beside(fault: str, misbehaviour: Misbehaviour, directory: Path, seconds: float) -> Row:
    state = directory / "state"
    state.mkdir()
    callers = Callers()
    came: Counter[str] = Counter()
    with running_server(state) as server:
        right = right_answers(server.grpc, "small")
        stop = threading.Event()
        others = threading.Thread(target=misbehaviour, args=(server.grpc, stop, came))
        with callers.calling(server.grpc, fault.split(maxsplit=1)[0]), probing(server.grpc) as probes:
            callers.wait_for(50)
            others.start()
            time.sleep(seconds)
            stop.set()
            others.join()
            recovery = callers.recovery()
        row = seen_row(fault, callers.seen, right)
        row.metrics, row.memory = telling(server), peak_memory(server)
        url = server.database
        server.stop()
    row.recovery = recovery
    row.note = ", ".join(f"{what} {number}" for what, number in came.most_common(6))
    probes.tell(row)
    return settle(row, callers.seen, state, url)


def _silent_and_gone(address: str, stop: threading.Event, came: Counter[str]) -> None:
    """A process begins calls that send no message, is killed, and another one comes."""
    while not stop.is_set():
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.chaos.strangers", address],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        )
        # Long enough for its calls to be there, and for the service to lose its patience with some.
        stop.wait(8)
        came["silent calls"] += _SILENT
        process.send_signal(signal.SIGKILL)
        process.wait()


def _silent(address: str) -> None:
    never = threading.Event()

    def nothing() -> Iterator[bytes]:
        never.wait()
        yield b""

    held: list[Any] = []
    for number in range(_SILENT):
        channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", number % 20)])
        method = _HEALTH if number % 4 == 0 else _PRUNE
        held.append((channel, channel.stream_unary(method, None, None).future(nothing())))
    never.wait()


def _many_connections(address: str, stop: threading.Event, came: Counter[str]) -> None:
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(address, options=options) for _ in range(_CONNECTIONS)]
    requests = (request_of("small", f"one-of-many-{number}") for number in count())
    try:
        while not stop.is_set():
            for call in [
                PruneServiceStub(channel).Prune.future(next(requests), timeout=20) for channel in channels
            ]:
                call.exception()
                came[call.code().name] += 1
    finally:
        for channel in channels:
            channel.close()


def _frame(kind: int, flags: int, stream: int, payload: bytes, length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _malformed(address: str, stop: threading.Event, came: Counter[str]) -> None:
    host, _, port = address.rpartition(":")
    dice = random.Random(9)
    settings = _frame(4, 0, 0, b"")
    sent: dict[str, Callable[[], bytes]] = {
        "noise": lambda: dice.randbytes(4_096),
        "no preface": lambda: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "cut frame": lambda: _PREFACE + settings + _frame(1, 4, 1, b"\x82", 5_000),
        "bad HPACK": lambda: _PREFACE + settings + _frame(1, 5, 1, dice.randbytes(200)),
        "data on stream 0": lambda: _PREFACE + settings + _frame(0, 1, 0, b"x" * 100),
        "huge frame": lambda: _PREFACE + settings + _frame(0, 1, 1, b"", 0xFFFFFF),
        "unknown frames": lambda: _PREFACE + settings + _frame(0xEE, 0xFF, 3, dice.randbytes(64)) * 50,
        "resets": lambda: _PREFACE + settings + _frame(3, 0, 1, b"\0\0\0\x08") * 500,
        "window of 0": lambda: _PREFACE + settings + _frame(8, 0, 0, b"\0\0\0\0"),
        "pings": lambda: _PREFACE + settings + _frame(6, 0, 0, b"12345678") * 1_000,
    }
    while not stop.is_set():
        for name, made in sent.items():
            try:
                with socket.create_connection((host, int(port)), timeout=5) as to:
                    to.sendall(made())
                    to.settimeout(0.02)
                    to.recv(4_096)
                came[name] += 1
            except OSError:
                came[name] += 1


def _huge(address: str, stop: threading.Event, came: Counter[str]) -> None:
    request = pb.PruneRequest(body=pb.RequestBody(json=b" " * _BIG_BYTES))
    with grpc.insecure_channel(address, options=[("grpc.max_send_message_length", -1)]) as channel:
        prune = PruneServiceStub(channel).Prune
        while not stop.is_set():
            for call in [prune.future(request, timeout=20) for _ in range(4)]:
                call.exception()
                came[call.code().name] += 1


if __name__ == "__main__":
    _silent(sys.argv[1])
