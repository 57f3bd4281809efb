"""Vectors of an endpoint, kept so that an outage or a new replica does not rank the past anew.

Nothing waits long for them: they are written behind the caller's back, and a read that takes too long counts
as having found nothing. What is not found is ranked by words.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from pinch_server.store.engine import writing
from pinch_server.store.tables import embedding_vectors

READ_SECONDS: Final = 0.2
"""How long a call waits for what is stored (seconds)."""

_BATCH: Final = 500
_MOST_WAITING: Final = 64
_LOG: Final = logging.getLogger(__name__)

Vector = NDArray[np.float32]


class DatabaseVectors:
    """Vectors by their keys. Shared by threads.

    Args:
        engine: The database; its schema should be current.
        now: The time (microseconds since the Unix epoch).
        read_seconds: How long a call waits for what is stored (seconds).
    """

    def __init__(
        self,
        engine: Engine,
        *,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        self._engine = engine
        self._now = now
        self._read_seconds = read_seconds
        self._lock = Lock()
        self._reading: Future[dict[bytes, Vector]] | None = None
        self._waiting = 0
        # Their threads start with the first use: most services never have one.
        self._readers = ThreadPoolExecutor(1, thread_name_prefix="pinch-vectors-read")
        self._writers = ThreadPoolExecutor(1, thread_name_prefix="pinch-vectors-write")

    def read(self, keys: Sequence[bytes]) -> Mapping[bytes, Vector]:
        """Those that are kept, by key; empty when they cannot be read, or not soon."""
        with self._lock:
            if self._reading is not None and not self._reading.done():
                # The database hangs: one call has found out, the others need not.
                return {}
            try:
                self._reading = reading = self._readers.submit(self._read, list(keys))
            except RuntimeError:
                # Closed under a call that was not finished in time.
                return {}
        try:
            return reading.result(self._read_seconds)
        except (TimeoutError, CancelledError):
            return {}

    def write(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors some time soon; what cannot be kept is lost."""
        with self._lock:
            if self._waiting >= _MOST_WAITING:
                return
            with suppress(RuntimeError):
                self._writers.submit(self._write, dict(vectors))
                self._waiting += 1

    def close(self) -> None:
        """Finishes what is being written, and ends the threads."""
        self._readers.shutdown(wait=True, cancel_futures=True)
        self._writers.shutdown(wait=True)

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        table, found = embedding_vectors, {}
        try:
            with self._engine.connect() as connection:
                for start in range(0, len(keys), _BATCH):
                    query = select(table.c.key, table.c.vector).where(
                        table.c.key.in_(keys[start : start + _BATCH])
                    )
                    for key, vector in connection.execute(query):
                        found[bytes(key)] = np.frombuffer(vector, dtype="<f2").astype(np.float32)
        except (SQLAlchemyError, ValueError) as error:
            # By its type alone: a driver's message may hold the URL.
            _LOG.warning("stored vectors cannot be read: %s", type(error).__name__)
            return {}
        return found

    def _write(self, vectors: Mapping[bytes, Vector]) -> None:
        now = self._now()
        rows = [
            {"key": key, "vector": vectors[key].astype("<f2").tobytes(), "created_at": now}
            for key in sorted(vectors)
        ]
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        insert = dialect.insert(embedding_vectors)
        # What is there stays, unless the endpoint has changed its dimension since.
        over_others = insert.on_conflict_do_update(
            index_elements=["key"],
            set_={name: insert.excluded[name] for name in ("vector", "created_at")},
            where=func.length(embedding_vectors.c.vector) != func.length(insert.excluded.vector),
        )
        try:
            with writing(self._engine) as connection:
                connection.execute(over_others, rows)
        except SQLAlchemyError as error:
            _LOG.warning("vectors cannot be stored: %s", type(error).__name__)
        finally:
            with self._lock:
                self._waiting -= 1
