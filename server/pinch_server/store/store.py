"""The store of a running process: what keeps decisions and reads them, on one database."""

import threading
from pathlib import Path
from typing import Final

from pinch_server.store.drain import Pace
from pinch_server.store.engine import open_engine
from pinch_server.store.frozen import DatabaseFrozen
from pinch_server.store.insight import DatabaseInsight
from pinch_server.store.observer import StoreObserver
from pinch_server.store.originals import DatabaseOriginals
from pinch_server.store.past_calls import DatabasePastCalls
from pinch_server.store.recorder import JournalRecorder
from pinch_server.store.spending import DatabaseSpending
from pinch_server.store.vectors import DatabaseVectors

_CLOSE_SECONDS: Final = 5.0
"""How long what is not the journal may take to be written when the service stops (seconds)."""


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
        self.frozen = DatabaseFrozen(self._engine)
        self.past_calls = DatabasePastCalls(self._engine)
        self.originals: DatabaseOriginals | None = None

    def keep_originals(
        self, secret: str, *, ttl_seconds: int, max_chars: int, max_bytes: int
    ) -> DatabaseOriginals:
        """Keep originals of trimmed results from now on.

        Args:
            secret: What they are encrypted with.
            ttl_seconds: How long each is kept (seconds).
            max_chars: Longest that is kept (characters).
            max_bytes: Most that all of them may take (bytes).
        """
        self.originals = DatabaseOriginals(
            self._engine, secret, ttl_seconds=ttl_seconds, max_chars=max_chars, max_bytes=max_bytes
        )
        return self.originals

    def spending(self, daily_usd: float) -> DatabaseSpending:
        """What the extraction model may cost in a day, all processes together (USD)."""
        return DatabaseSpending(self._engine, daily_usd)

    def close(self) -> bool:
        """Empty the journal into the database as far as time and database allow, and let the database go.

        Returns:
            False when a thread is still at a statement that does not end, which would keep the process.
        """
        self.recorder.close()
        rest = threading.Thread(target=self._close_rest, name="pinch-store-close", daemon=True)
        rest.start()
        rest.join(_CLOSE_SECONDS)
        return not rest.is_alive()

    def _close_rest(self) -> None:
        self.vectors.close()
        self.frozen.close()
        self.past_calls.close()
        if self.originals is not None:
            self.originals.close()
        self._engine.dispose()
