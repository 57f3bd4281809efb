"""The store of a running process: what keeps decisions and reads them, on one database."""

from pathlib import Path

from pinch_server.store.drain import Pace
from pinch_server.store.engine import open_engine
from pinch_server.store.insight import DatabaseInsight
from pinch_server.store.observer import StoreObserver
from pinch_server.store.recorder import JournalRecorder
from pinch_server.store.vectors import DatabaseVectors


class Store:
    """Opened by its making, whether or not the database can be reached; closed by `close`."""

    def __init__(
        self,
        url: str,
        journal: Path,
        observer: StoreObserver,
        *,
        journal_bytes: int,
        fsync: bool,
        batch_rows: int,
        grace_seconds: int,
    ) -> None:
        """Open the store.

        Args:
            url: The database; its schema should be current.
            journal: Where the journals of all workers on this machine are.
            observer: Told the counts.
            journal_bytes: Upper bound of this worker's journal on disk.
            fsync: Acknowledge only what survives a power loss.
            batch_rows: Records moved to the database at most in one transaction.
            grace_seconds: When an unreported decision counts, and how long an outcome waits for its decision.

        Raises:
            UnsupportedDatabase: The URL names no database that Pinch can use.
        """
        self._engine = open_engine(url, durable=fsync)
        self.insight = DatabaseInsight(self._engine, grace_us=grace_seconds * 1_000_000)
        self.recorder = JournalRecorder(
            self._engine,
            journal,
            observer,
            max_bytes=journal_bytes,
            fsync=fsync,
            pace=Pace(batch_rows=batch_rows, grace_seconds=float(grace_seconds)),
        )
        self.vectors = DatabaseVectors(self._engine)

    def close(self) -> None:
        """Empty the journal into the database as far as time and database allow, and let the database go."""
        self.recorder.close()
        self.vectors.close()
        self._engine.dispose()
