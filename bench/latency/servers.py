"""The servers that are measured, each a process of its own with the same allocator settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import grpc

from bench.latency.echo import METHOD
from bench.running_server import running_server
from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub

ALLOCATOR: Final[Mapping[str, str]] = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    "MALLOC_TOP_PAD_": str(64 << 20),
}
"""What `serve` sets for itself, for the echo and for the caller: the ratio is then that of the work alone."""
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
)
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Measured:
    """A server under measurement.

    Attributes:
        address: Where it takes calls: one address, or those of its workers divided by commas.
        pid: Its process; workers are its children.
        http: Where its metrics are; empty where it has none.
    """

    address: str
    pid: int
    http: str = ""

    @property
    def workers(self) -> int:
        """How many take calls."""
        return self.address.count(",") + 1

    def processes(self) -> list[int]:
        """Its process and all below it."""
        found = [self.pid]
        for pid in found:
            for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, tasks.read_text().split())
        return found

    def cpu_seconds(self) -> float:
        """Processor time it has taken so far, its workers' included (seconds)."""
        return sum(_cpu_ticks(pid) for pid in self.processes()) / _TICKS

    def resident_mib(self) -> float:
        """Memory it holds, its workers' included (MiB)."""
        pages = (int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.processes())
        return sum(pages) * os.sysconf("SC_PAGESIZE") / 2**20


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@contextmanager
def echo_server() -> Iterator[Measured]:
    """The floor."""
    command = [sys.executable, "-m", "bench.latency.echo"]
    environment = os.environ | ALLOCATOR
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        try:
            if process.stdout is None:
                raise OSError("the echo's output cannot be read")
            yield Measured(json.loads(process.stdout.readline())["grpc"], process.pid)
        finally:
            process.kill()


@contextmanager
def pinch_server(*options: str) -> Iterator[Measured]:
    """Pinch on its shipped defaults, journal and SQLite in a directory of its own."""
    with ExitStack() as stack:
        state = Path(stack.enter_context(TemporaryDirectory(prefix="pinch-bench-")))
        running = stack.enter_context(running_server(state, *options))
        # A connection to the shared port is one worker's: who wants them all names their own ports.
        yield Measured(",".join(running.workers) or running.grpc, running.process.pid, running.http)


@contextmanager
def echo_stub(address: str) -> Iterator[grpc.UnaryUnaryMultiCallable[bytes, bytes]]:
    """A connection to the echo; bytes go out and come in as they are."""
    with grpc.insecure_channel(address, options=_OPTIONS) as channel:
        yield channel.unary_unary(METHOD, request_serializer=None, response_deserializer=None)


@contextmanager
def pinch_stub(address: str) -> Iterator[grpc.UnaryUnaryMultiCallable[pb.PruneRequest, pb.PruneResponse]]:
    """A connection to Pinch, at one address or several divided by commas; each call encodes its request."""
    target = address
    options: list[tuple[str, int | str]] = list(_OPTIONS)
    if "," in address:
        target = f"ipv4:{address}"
        options.append(("grpc.service_config", json.dumps({"loadBalancingConfig": [{"round_robin": {}}]})))
    with grpc.insecure_channel(target, options=options) as channel:
        yield PruneServiceStub(channel).Prune
