"""SIGKILL under load, again and again, with the database up, down and coming back."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from bench.running_server import running_server
from bench.torture.load import Clients
from bench.torture.outages import Outage
from pinch_server.store.engine import open_engine
from pinch_server.store.tables import prune_decisions

PHASES = ("up", "goes down", "down", "comes back")
"""What the database does in one round after the other."""
_PATIENCE_SECONDS = 120.0
_STOPS = 30
_OUTLAST_SECONDS = 10.0
"""How long clients look for the service again when a connection breaks, where that may be one worker's."""


@dataclass(frozen=True, slots=True)
class Survival:
    """What was left after all kills.

    Attributes:
        database: Which kind.
        kills: Services killed.
        phases: How many of them in which phase of the database.
        acknowledged: Decisions that a reply called persisted.
        stored: Decisions in the database in the end; a kill may fall between its journal and its reply.
        missing: Acknowledged and not in the database.
        doubled: Calls of which the database has more than one decision.
        torn: Journals that ended in half a line.
        unpersisted: Replies that said a decision was not kept.
        left: Files left in the journal's directory.
    """

    database: str
    kills: int
    phases: dict[str, int]
    acknowledged: int
    stored: int
    missing: int
    doubled: int
    torn: int
    unpersisted: int
    left: int

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, doubled or left behind."""
        return self.missing == self.doubled == self.left == 0


def survive(
    kind: str,
    database: Outage,
    state: Path,
    kills: int,
    *,
    calls: int = 300,
    workers: int = 1,
    tick: Callable[[int], None] = lambda _: None,
) -> Survival:
    """Kills a service so many times while it is called, and compares what it acknowledged with the database.

    Args:
        kind: What the report calls the database.
        database: The database, migrated.
        state: An empty directory for the service's state.
        kills: How many times.
        calls: Calls that each service acknowledges at least before it is killed.
        workers: Processes of each service; of several, one is killed alone before all are.
        tick: Called after each kill.

    Raises:
        ServerError: A service did not start or stop.
        TimeoutError: A service did not acknowledge so many calls.
    """
    phases: Counter[str] = Counter()
    acknowledged: list[str] = []
    unpersisted = torn = 0
    for turn in range(kills):
        phase = PHASES[turn % len(PHASES)]
        phases[phase] += 1
        clients = Clients(f"call-{turn}", outlast_seconds=_OUTLAST_SECONDS if workers > 1 else 0.0)
        database.down() if phase in ("down", "comes back") else database.up()
        options = ("--workers", str(workers), "--database-url", database.url)
        with running_server(state, *options) as server, clients.calling(server.grpc):
            _wait(clients, calls // 2)
            if phase == "goes down":
                database.down()
            elif phase == "comes back":
                database.up()
            if workers > 1:
                os.kill(workers_of(server.process.pid)[turn % workers], signal.SIGKILL)
            _wait(clients, calls)
            for pid in (server.process.pid, *workers_of(server.process.pid)):
                os.kill(pid, signal.SIGKILL)
            server.process.wait()
        acknowledged += clients.acknowledged
        unpersisted += clients.refused
        torn += _tear(state / "journal")
        tick(1)
    database.up()
    left = bring_home(state, database.url)
    stored, calls_of = stored_decisions(database.url)
    return Survival(
        database=kind,
        kills=kills,
        phases=dict(phases),
        acknowledged=len(acknowledged),
        stored=len(stored),
        missing=len(set(acknowledged) - stored),
        doubled=sum(number > 1 for number in calls_of.values()),
        torn=torn,
        unpersisted=unpersisted,
        left=left,
    )


def workers_of(pid: int) -> list[int]:
    """The processes that a service has started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread that ends just now takes its file with it.
        with suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, (task / "children").read_text().split())
    return found


def _wait(clients: Clients, number: int) -> None:
    if not clients.wait_for(number, _PATIENCE_SECONDS):
        raise TimeoutError(f"{len(clients.acknowledged)} of {number} calls were acknowledged in time")


def _tear(journal: Path) -> int:
    """Ends the newest journal in half a line, as a kill within a write would; 1 when there was one."""
    files = sorted(journal.glob("*.journal"))
    if not files:
        return 0
    descriptor = os.open(files[-1], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, b'0123abcd D {"decision_id":"0197')
    finally:
        os.close(descriptor)
    return 1


def bring_home(state: Path, url: str) -> int:
    """Starts and stops services until the journals are empty; the number of files that are left."""
    for _ in range(_STOPS):
        with running_server(state, "--database-url", url) as server:
            server.stop()
        left = len(list((state / "journal").iterdir()))
        if left == 0:
            return 0
    return left


def stored_decisions(url: str) -> tuple[set[str], Counter[str]]:
    """The ids of all decisions of a database, and how many each call's own id has."""
    engine = open_engine(url)
    try:
        with engine.connect() as connection:
            rows = connection.execute(
                select(prune_decisions.c.decision_id, prune_decisions.c.request_id)
            ).all()
    finally:
        engine.dispose()
    return {row.decision_id for row in rows}, Counter(row.request_id for row in rows)
