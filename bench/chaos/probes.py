"""Health checks while a fault lasts: readiness must not follow it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import grpc

from bench.chaos.row import Row
from pinch_server.rpc.asking import NotServingError, ask_health


@dataclass(slots=True)
class Probes:
    """How health checks ended.

    Attributes:
        answered: Those that were told SERVING in time.
        failed: The others.
    """

    answered: int = 0
    failed: int = 0

    def tell(self, row: Row) -> None:
        """Adds them to a row; one that failed makes it a row of harm."""
        row.is_well = row.is_well and not self.failed
        row.note = f"{row.note}; probes answered {self.answered}, not {self.failed}".strip("; ")


@contextmanager
def probing(address: str) -> Iterator[Probes]:
    """Asks for health five times a second, as an impatient orchestrator would, until the block ends."""
    probes, stop = Probes(), threading.Event()

    def ask() -> None:
        while not stop.wait(0.2):
            try:
                ask_health(address, timeout=2)
                probes.answered += 1
            except (NotServingError, OSError, grpc.RpcError):
                probes.failed += 1

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield probes
    finally:
        stop.set()
        thread.join()
