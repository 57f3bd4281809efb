"""The background thread that keeps the database in order: adds up what is settled, forgets what is old."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import Engine

from pinch_server.store import retention
from pinch_server.store.observer import StoreObserver
from pinch_server.store.periods import DAY
from pinch_server.store.rollup import RollUp
from pinch_server.store.tables import extraction_forms, extraction_texts, originals

_LOG: Final = logging.getLogger(__name__)


class Upkeep:
    """Owns the thread; started by `start`, ended by `close`. Any number of workers may have one."""

    def __init__(
        self,
        engine: Engine,
        observer: StoreObserver,
        *,
        grace_seconds: float,
        retention_days: int,
        extracted_days: int = 30,
        originals_seconds: int = 86_400,
        every_seconds: float = 20.0,
        pause_seconds: float = 0.02,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Look after a database.

        Args:
            engine: The database.
            observer: Told of failures.
            grace_seconds: How long an unreported decision does not count (seconds).
            retention_days: How long decisions and vectors are kept (days); 0: for ever.
            extracted_days: How long texts of filters are kept after their last use, and forms (days).
            originals_seconds: How long originals are kept (seconds).
            every_seconds: Time between two rounds (seconds).
            pause_seconds: Time between two transactions, in which others write (seconds).
            now: Seconds since the epoch.
        """
        self._engine = engine
        self._observer = observer
        self._roll_up = RollUp(engine, grace_us=int(grace_seconds * 1e6))
        self._retention_days = retention_days
        self._ages = (
            (extraction_texts.c.used_at, extracted_days * DAY),
            (extraction_forms.c.created_at, extracted_days * DAY),
            (originals.c.created_at, originals_seconds * 1_000_000),
        )
        self._every_seconds = every_seconds
        self._pause_seconds = pause_seconds
        self._now = now
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pinch-upkeep", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, timeout: float = 5.0) -> None:
        """End the thread, waiting `timeout` seconds for the transaction it may be in."""
        self._stop.set()
        self._thread.join(timeout)

    def round(self) -> None:
        """Do all there is to do now, unless the thread is ended meanwhile.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: The database refused; what was done before stays done.
        """
        now = int(self._now() * 1e6)
        oldest = now - self._retention_days * DAY if self._retention_days else None
        for delete in (retention.delete_batch, retention.delete_vectors):
            while oldest is not None and not self._stop.is_set():
                if delete(self._engine, oldest) == 0:
                    break
                self._stop.wait(self._pause_seconds)
        for age, kept in self._ages:
            while not self._stop.is_set() and retention.delete_keyed(self._engine, age, now - kept):
                self._stop.wait(self._pause_seconds)
        for length, start in self._roll_up.missing(now, oldest):
            if self._stop.is_set():
                return
            if self._roll_up.add_up(length, start):
                self._stop.wait(self._pause_seconds)

    def _run(self) -> None:
        has_failed = False
        while not self._stop.is_set():
            try:
                self.round()
                has_failed = False
            except Exception as error:  # noqa: BLE001 - whatever happens, the thread must live on and try again
                self._observer.store_failed()
                if not has_failed:
                    _LOG.warning("the database is not kept in order: %s", str(error).partition("\n")[0])
                has_failed = True
            self._stop.wait(self._every_seconds)
