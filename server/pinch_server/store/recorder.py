"""The Recorder of a running service: the journal before the reply, the database soon after."""

from pathlib import Path

from sqlalchemy import Engine

from pinch_server.core.decision import Decision, Outcome
from pinch_server.store.database_file import DatabaseFile
from pinch_server.store.drain import Drain, Pace
from pinch_server.store.journal import Journal
from pinch_server.store.observer import StoreObserver
from pinch_server.store.writer import DecisionWriter


class JournalRecorder:
    """Acknowledges decisions and outcomes once they are in the journal. Safe from any number of threads."""

    def __init__(
        self,
        engine: Engine,
        directory: Path,
        observer: StoreObserver,
        *,
        max_bytes: int,
        segment_bytes: int = 8 * 1024 * 1024,
        fsync: bool = False,
        close_seconds: float = 10.0,
        pace: Pace | None = None,
    ) -> None:
        """Start recording; neither a disk nor a database that is out of order stops it.

        Args:
            engine: Where decisions end up; its schema must be current. With `fsync`, open it durable too.
            directory: Where the journals are; workers on one machine share it.
            observer: Told the counts.
            max_bytes: Upper bound of this worker's journal on disk.
            segment_bytes: Size at which a new journal file is begun.
            fsync: Acknowledge only what survives a power loss.
            close_seconds: How long `close` may take to empty the journal.
            pace: How the background thread works.
        """
        self._observer = observer
        self._close_seconds = close_seconds
        self._journal = Journal(directory, max_bytes=max_bytes, segment_bytes=segment_bytes, fsync=fsync)
        writer = DecisionWriter(engine, observer)
        self._drain = Drain(self._journal, writer, DatabaseFile(engine), observer, pace or Pace())
        self._drain.start()

    def record(self, decision: Decision) -> bool:
        """Acknowledge a decision: True once it is in the journal, False (and counted) when it cannot be."""
        return self._append(decision)

    def report(self, outcome: Outcome) -> bool:
        """Acknowledge an outcome, whether or not its decision is in the database yet."""
        return self._append(outcome)

    def flush(self, timeout: float) -> bool:
        """Wait until the database has all that was acknowledged so far; False after `timeout` seconds."""
        return self._drain.flush(timeout)

    def close(self) -> None:
        """Empty the journal into the database as far as time and database allow; the rest stays on disk."""
        self._drain.close(self._close_seconds)

    def _append(self, record: Decision | Outcome) -> bool:
        if not self._journal.append(record):
            self._observer.journal_dropped()
            return False
        self._drain.wake()
        return True
