"""One line of the table, and how its figures are read from a service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.chaos.callers import Seen
from bench.running_server import RunningServer
from bench.scrape import scrape, series
from bench.torture.kills import bring_home, stored_decisions, workers_of

_TELLING = (
    "pinch_calls_shed_total",
    "pinch_journal_dropped_total",
    "pinch_store_errors_total",
    "pinch_worker_restarts_total",
    "pinch_relevance_unavailable_total",
    'grpc_server_handled_total{grpc_code="DEADLINE_EXCEEDED"',
    'grpc_server_handled_total{grpc_code="CANCELLED"',
    'grpc_server_handled_total{grpc_code="RESOURCE_EXHAUSTED"',
)
"""What tells of a fault; what is zero is not shown."""


@dataclass(slots=True)
class Row:
    """What became of a service under one fault.

    Attributes:
        fault: Its name.
        codes: What callers saw, by the name of the status.
        unpersisted: Answers that said a decision was not kept.
        wrong: Answers that say something else than a healthy service, or one that has to do without a helper.
        metrics: What the metrics said of it.
        acknowledged: Decisions that an answer called persisted.
        missing: Those of them that are not in the database in the end.
        doubled: Calls of which the database has more than one decision.
        memory: The most memory of all processes of the service together (MiB).
        recovery: From the fault's end until calls are answered and kept again (seconds).
        is_well: Whether all else was as it should be: probes answered, ready again, no file left.
        note: What else is worth a word.
    """

    fault: str
    codes: dict[str, int]
    unpersisted: int = 0
    wrong: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    acknowledged: int = 0
    missing: int = 0
    doubled: int = 0
    memory: float = 0.0
    recovery: float | None = None
    is_well: bool = True
    note: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether no answer was wrong, nothing that was acknowledged is lost, and all else is well."""
        return self.wrong == self.missing == self.doubled == 0 and self.is_well


def seen_row(fault: str, seen: Seen, right: Iterable[str]) -> Row:
    """A row of what callers saw; the rest is filled in by who knows it."""
    return Row(
        fault,
        dict(seen.codes.most_common()),
        unpersisted=seen.unpersisted,
        wrong=seen.wrong(right),
        acknowledged=len(seen.acknowledged),
    )


def peak_memory(server: RunningServer) -> float:
    """The most memory that the service's processes had, together (MiB); of those that run now."""
    pid = server.process.pid
    total = 0
    for one in (pid, *workers_of(pid)):
        status = Path(f"/proc/{one}/status").read_text()
        total += int(status.split("VmHWM:")[1].split()[0])
    return total / 1024


def telling(server: RunningServer, before: Mapping[str, float] | None = None) -> dict[str, float]:
    """Those series that tell of faults, without zeros, as they moved since `before`."""
    found = {}
    for name, value in series(scrape(server.http)).items():
        change = value - (before or {}).get(name, 0.0)
        if change and name.startswith(_TELLING):
            found[name] = change
    return found


def settle(row: Row, seen: Seen, state: Path, url: str) -> Row:
    """Empties what waits in journals, and compares the database with what was acknowledged.

    Args:
        row: Gets the figures.
        seen: What callers saw.
        state: The state directory of the service, which has stopped.
        url: Its database.
    """
    left = bring_home(state, url)
    stored, calls = stored_decisions(url)
    row.missing = len(set(seen.acknowledged) - stored)
    row.doubled = sum(number > 1 for number in calls.values())
    if left:
        row.note = f"{row.note}; {left} journal files are left".strip("; ")
        row.is_well = False
    return row
