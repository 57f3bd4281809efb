"""The main job, once, on a real server: a conversation goes in over gRPC, and what it left behind is read."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from bench.running_server import RunningServer, running_server
from bench.scrape import Moved, moved, scrape
from pinch import PinchClient, Pruned

CALL_SECONDS = 30.0
ROW_SECONDS = 10.0
_LOOK_AGAIN_SECONDS = 0.02


class RowMissingError(Exception):
    """The decision did not reach the database in time."""


@dataclass(frozen=True, slots=True)
class DemoRun:
    """What one run saw.

    Attributes:
        grpc: Where the server listened.
        database: URL of its database.
        pruned: The client's result.
        call_seconds: Wall time of the call as the client saw it.
        row: The decision's row, columns in the table's order.
        row_seconds: From the reply until the row was seen in the database.
        metrics: The series that moved between the scrapes before the call and after the row.
        exit_status: The server's exit status after SIGTERM.
        start_seconds: From starting the server until it was ready.
        stop_seconds: From SIGTERM until the server had ended.
    """

    grpc: str
    database: str
    pruned: Pruned[bytes]
    call_seconds: float
    row: Mapping[str, Any]
    row_seconds: float
    metrics: list[Moved]
    exit_status: int
    start_seconds: float
    stop_seconds: float


def run(body: bytes) -> DemoRun:
    """Starts a server with its state in a temporary directory, prunes `body`, looks around, stops the server.

    Raises:
        ServerError: The server did not start or did not stop.
        PinchError: The call failed.
        RowMissingError: The decision was not in the database after `ROW_SECONDS`.
        OSError: The metrics could not be read.
    """
    with TemporaryDirectory(prefix="pinch-demo-") as state:
        began = time.perf_counter()
        with running_server(Path(state)) as server:
            ready = time.perf_counter()
            before = scrape(server.http)
            pruned, call_seconds = _call(server, body)
            replied = time.perf_counter()
            row = _row(server.database, pruned.decision_id)
            row_seconds = time.perf_counter() - replied
            metrics = _metrics(server.http, before)
            stopping = time.perf_counter()
            status = server.stop()
            return DemoRun(
                grpc=server.grpc,
                database=server.database,
                pruned=pruned,
                call_seconds=call_seconds,
                row=row,
                row_seconds=row_seconds,
                metrics=metrics,
                exit_status=status,
                start_seconds=ready - began,
                stop_seconds=time.perf_counter() - stopping,
            )


def _call(server: RunningServer, body: bytes) -> tuple[Pruned[bytes], float]:
    with closing(PinchClient(server.grpc, timeout=CALL_SECONDS, strict=True)) as client:
        began = time.perf_counter()
        pruned = client.prune_body(body)
        return pruned, time.perf_counter() - began


def _row(database: str, decision_id: str) -> Mapping[str, Any]:
    """The decision's row, looked for again and again: the server writes it shortly after the reply."""
    engine = create_engine(database, poolclass=NullPool)
    query = text("select * from prune_decisions where decision_id = :decision_id")
    deadline = time.monotonic() + ROW_SECONDS
    problem = "no such row"
    while time.monotonic() < deadline:
        try:
            with engine.connect() as connection:
                row = connection.execute(query, {"decision_id": decision_id}).mappings().first()
        except SQLAlchemyError as error:
            problem = f"{type(error).__name__}: {error}"
        else:
            if row is not None:
                return dict(row)
        threading.Event().wait(_LOOK_AGAIN_SECONDS)
    raise RowMissingError(
        f"decision {decision_id} was not in the database after {ROW_SECONDS:g} s: {problem}"
    )


def _metrics(http: str, before: str) -> list[Moved]:
    """What moved, once the decision counts as stored (at most two seconds later, else what there is)."""
    deadline = time.monotonic() + 2.0
    while True:
        found = moved(before, scrape(http))
        stored = any(line.series.startswith("pinch_decisions_stored_total") for line in found)
        if stored or time.monotonic() > deadline:
            return found
        threading.Event().wait(_LOOK_AGAIN_SECONDS)
