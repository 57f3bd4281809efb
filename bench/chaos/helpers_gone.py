"""What the service leans on is taken away: the embedding endpoint, the database, the disk."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from bench.chaos.callers import Callers, Kind, digest_of, request_of
from bench.chaos.probes import probing
from bench.chaos.row import Row, peak_memory, seen_row, settle, telling
from bench.running_server import RunningServer, running_server
from bench.scrape import scrape, series
from bench.torture.disks import small_disk
from bench.torture.outages import outage
from pinch.v1.prune_pb2_grpc import PruneServiceStub

_PATIENCE_SECONDS = 120.0
_SMALL_DISK_KIB = 512


def right_answers(address: str, kind: Kind, name: str = "first") -> set[str]:
    """What a service answers to a kind of call as it is now."""
    with grpc.insecure_channel(address) as channel:
        prune = PruneServiceStub(channel).Prune
        return {
            digest_of(prune(request_of(kind, f"right-{name}-{number}"), timeout=30)) for number in range(2)
        }


def caught_up(server: RunningServer) -> float:
    """Waits until no record waits for the database; how long that took (seconds).

    Raises:
        TimeoutError: Records still wait.
    """
    began = time.monotonic()
    while series(scrape(server.http))["pinch_journal_pending"]:
        if time.monotonic() > began + _PATIENCE_SECONDS:
            raise TimeoutError(f"records still wait after {_PATIENCE_SECONDS:g} s")
        time.sleep(0.05)
    return time.monotonic() - began


def embedder_hung(directory: Path, seconds: float) -> Row:
    """An endpoint takes connections and never answers."""
    state = directory / "state"
    state.mkdir()
    callers = Callers("ranked")
    with _silent_endpoint() as (url, let_go):
        config = directory / "pinch.toml"
        config.write_text(
            f'[relevance]\nscoring = "hybrid"\nbase_url = "{url}"\ntimeout_seconds = 0.5\n'
            f'[store]\ndatabase_url = "sqlite:///{directory / "pinch.sqlite3"}"\n'
        )
        with running_server(state, "--config", str(config)) as server:
            # The first ones wait for the endpoint; what they say is said without it from then on.
            right = right_answers(server.grpc, "ranked") | right_answers(server.grpc, "ranked", "second")
            with callers.calling(server.grpc, "embedder"), probing(server.grpc) as probes:
                time.sleep(seconds)
                let_go()
                recovery = callers.recovery()
            row = seen_row("embedder hung", callers.seen, right | _right_by_reason(server.grpc))
            row.metrics, row.memory = telling(server), peak_memory(server)
            server.stop()
    row.recovery = recovery
    row.note = f"slowest answer {max(callers.seen.milliseconds) / 1000:.2f} s (timeout 0.5 s)"
    probes.tell(row)
    return settle(row, callers.seen, state, f"sqlite:///{directory / 'pinch.sqlite3'}")


def _right_by_reason(address: str) -> set[str]:
    """The answers by words, under each of the reasons why there are no vectors."""
    found = set()
    with grpc.insecure_channel(address) as channel:
        reply = PruneServiceStub(channel).Prune(request_of("ranked", "by-words"), timeout=30)
    for reason in ("embedder_timeout", "embedder_breaker_open", "embedder_closed", "embedder_refused"):
        reply.stats.ranking_reason = reason
        found.add(digest_of(reply))
    return found


@contextmanager
def _silent_endpoint() -> Iterator[tuple[str, Callable[[], None]]]:
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hold() -> None:
            try:
                while True:
                    held.append(listening.accept()[0])
            except OSError:
                return

        def let_go() -> None:
            # From now on connections are refused, as by an endpoint that was taken away.
            listening.shutdown(socket.SHUT_RDWR)
            for one in held:
                one.close()

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", let_go
        for one in held:
            one.close()


def database_stopped(directory: Path, seconds: float) -> Row:
    """PostgreSQL is stopped and started again under load."""
    state = directory / "state"
    state.mkdir()
    callers = Callers()
    with outage("postgresql", directory) as database:
        with running_server(state, "--database-url", database.url) as server:
            right = right_answers(server.grpc, "small")
            with callers.calling(server.grpc, "database"), probing(server.grpc) as probes:
                callers.wait_for(50)
                database.down()
                time.sleep(seconds)
                database.up()
                recovery = callers.recovery()
            caught = caught_up(server)
            row = seen_row("PostgreSQL stopped", callers.seen, right)
            row.metrics, row.memory = telling(server), peak_memory(server)
            server.stop()
        row.recovery = recovery
        row.note = f"away for {seconds:g} s; the journal was empty {caught:.1f} s after the last call"
        probes.tell(row)
        return settle(row, callers.seen, state, database.url)


def disk_full(directory: Path, seconds: float) -> Row:
    """The disk of the journal is full, the database being away; then the database comes back."""
    state = directory / "state"
    state.mkdir()
    callers = Callers()
    with outage("postgresql", directory) as database, small_disk(state, _SMALL_DISK_KIB):
        log = directory / "server.log"
        with running_server(state, "--database-url", database.url, log=log) as server:
            right = right_answers(server.grpc, "small")
            with callers.calling(server.grpc, "disk"), probing(server.grpc) as probes:
                callers.wait_for(50)
                database.down()
                callers.wait_for(unpersisted=100)
                time.sleep(seconds)
                database.up()
                recovery = callers.recovery()
            row = seen_row("disk full", callers.seen, right)
            row.metrics, row.memory = telling(server), peak_memory(server)
            counted = row.metrics.get("pinch_journal_dropped_total", 0)
            row.is_well = row.unpersisted > 0 and counted == row.unpersisted
            server.stop()
        row.recovery = recovery
        row.note = f"{_SMALL_DISK_KIB} KiB; each decision that was not kept was told and counted"
        probes.tell(row)
        return settle(row, callers.seen, state, database.url)
