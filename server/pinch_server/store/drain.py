"""The background thread that moves a worker's journal into the database."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import DataError, IntegrityError

from pinch_server.core.decision import Decision, Outcome
from pinch_server.store.database_file import DatabaseFile
from pinch_server.store.journal import Batch, Journal
from pinch_server.store.observer import StoreObserver
from pinch_server.store.writer import DecisionWriter

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How the drain works; every time is in seconds.

    Attributes:
        batch_rows: Records written at most in one transaction.
        gather_seconds: Rest while less than a batch is left, so that a steady trickle is written in groups;
            `flush` and `close` end it.
        housekeeping_seconds: How often journals of dead workers and waiting outcomes are looked for.
        first_retry_seconds: Wait after the first failure; it doubles with each further one.
        last_retry_seconds: The longest wait between attempts.
        grace_seconds: How long an outcome waits for its decision.
    """

    batch_rows: int = 500
    gather_seconds: float = 0.5
    housekeeping_seconds: float = 2.0
    first_retry_seconds: float = 0.1
    last_retry_seconds: float = 5.0
    grace_seconds: float = 300.0


class Drain:
    """Owns the thread; started by `start`, ended by `close`."""

    def __init__(
        self,
        journal: Journal,
        writer: DecisionWriter,
        file: DatabaseFile,
        observer: StoreObserver,
        pace: Pace,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Connect a journal to a database; `now` gives seconds since the epoch."""
        self._journal = journal
        self._writer = writer
        self._file = file
        self._observer = observer
        self._pace = pace
        self._now = now
        self._work = threading.Event()
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._moved = threading.Condition()
        self._looked = False
        self._retry_seconds = 0.0
        self._next_housekeeping = 0.0
        self._thread = threading.Thread(target=self._run, name="pinch-drain", daemon=True)

    def start(self) -> None:
        """Start the thread; it first adopts the journals of dead workers."""
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something in the journal."""
        # The thread clears it before it looks: while it is set, what is in the journal will still be seen.
        if not self._work.is_set():
            self._work.set()

    def flush(self, timeout: float) -> bool:
        """Wait until the database has all that was acknowledged so far, journals of dead workers included.

        Returns:
            False when `timeout` seconds passed first.
        """
        self._hurry.set()
        self.wake()
        with self._moved:
            return self._moved.wait_for(lambda: self._looked and self._journal.pending == 0, timeout)

    def close(self, timeout: float) -> bool:
        """Take no more, write what is left for at most `timeout` seconds, and end the thread and the journal.

        What a database that is down does not take stays on disk for the next worker.

        Returns:
            False when the thread is still at it, and will end when the database answers or the process ends.
        """
        self._journal.refuse()
        self._stop.set()
        self._hurry.set()
        self._work.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._move_until_stopped()
        # Only here, since this thread may outlive the patience of `close` and still be reading the files.
        self._journal.close()
        self._observer.journal_pending(self._journal.pending)

    def _move_until_stopped(self) -> None:
        while True:
            stopping = self._stop.is_set()
            try:
                moved = self._step()
            except Exception as error:  # noqa: BLE001 - whatever happens, the thread must live on and try again
                if stopping:
                    _log.warning(
                        "%d lines are left for the next start: %s", self._journal.pending, _first_line(error)
                    )
                    return
                self._back_off(error)
                continue
            self._recovered()
            self._observer.journal_pending(self._journal.pending)
            with self._moved:
                self._moved.notify_all()
            if moved == 0 and stopping:
                return
            if moved == 0:
                self._rest()
            elif self._journal.pending < self._pace.batch_rows:
                self._hurry.wait(self._pace.gather_seconds)

    def _step(self) -> int:
        """Move one batch; return the number of its lines, 0 when there was none."""
        if time.monotonic() >= self._next_housekeeping and not self._stop.is_set():
            self._file.reopen_if_replaced()
            self._journal.adopt()
            self._observer.journal_pending(self._journal.pending)
            self._writer.settle_waiting(self._now_us(), int(self._pace.grace_seconds * 1e6))
            self._looked = True
            self._next_housekeeping = time.monotonic() + self._pace.housekeeping_seconds
        self._work.clear()
        batch = self._journal.next_batch(self._pace.batch_rows)
        if batch is None:
            return 0
        if batch.damaged:
            self._observer.store_failed()
        self._file.reopen_if_replaced()
        self._write(batch)
        self._file.require_same()
        self._journal.confirm(batch)
        return batch.lines

    def _write(self, batch: Batch) -> None:
        try:
            self._writer.write(batch.decisions, batch.outcomes, self._now_us())
        except Exception as error:
            if not _is_fault_of_a_row(error):
                raise
            self._write_each(batch)

    def _write_each(self, batch: Batch) -> None:
        """Write the records of a refused batch one by one, so that a bad one holds up no other.

        When none of a kind is taken, and a sound one is refused too, it is the database that is not fit, as
        when a newer schema wants a column that this version does not know: then they wait.
        """
        decisions = [self._refusal((decision,), ()) for decision in batch.decisions]
        outcomes = [self._refusal((), (outcome,)) for outcome in batch.outcomes]
        if (decisions and all(decisions)) or (outcomes and all(outcomes)):
            self._writer.try_a_row(self._now_us())
        records: tuple[Decision | Outcome, ...] = (*batch.decisions, *batch.outcomes)
        for record, error in zip(records, [*decisions, *outcomes], strict=True):
            if error is None:
                continue
            batch.segment.damaged = True
            self._observer.store_failed()
            name, why = record.decision_id, _first_line(error)
            _log.error("%s cannot be stored, its journal will be set aside: %s", name, why)

    def _refusal(self, decisions: tuple[Decision, ...], outcomes: tuple[Outcome, ...]) -> Exception | None:
        try:
            self._writer.write(decisions, outcomes, self._now_us())
        except Exception as error:
            if not _is_fault_of_a_row(error):
                raise
            return error
        return None

    def _rest(self) -> None:
        self._hurry.clear()
        self._work.wait(max(0.0, self._next_housekeeping - time.monotonic()))

    def _back_off(self, error: Exception) -> None:
        self._observer.store_failed()
        self._observer.journal_pending(self._journal.pending)
        if self._retry_seconds == 0.0:
            _log.warning("the database takes no decisions, they wait in the journal: %s", _first_line(error))
        self._retry_seconds = min(
            max(self._retry_seconds * 2, self._pace.first_retry_seconds), self._pace.last_retry_seconds
        )
        self._stop.wait(self._retry_seconds)

    def _recovered(self) -> None:
        if self._retry_seconds:
            _log.info("the database takes decisions again")
        self._retry_seconds = 0.0

    def _now_us(self) -> int:
        return int(self._now() * 1_000_000)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _is_fault_of_a_row(error: Exception) -> bool:
    """Tell a row that no database would take from a database that is down, locked, full or not migrated."""
    return isinstance(error, DataError | IntegrityError | ValueError | TypeError | OverflowError)
