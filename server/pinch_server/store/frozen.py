"""Texts of filters, and the forms in which results were sent: written once, and the same for every replica.

The first to write a key wins, and everybody reads what it wrote. A caller waits for an answer only so long;
what was to be written for a caller that has gone is not written, or taken back.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Final

from sqlalchemy import Connection, Delete, Engine, Table, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from pinch_server.core.extraction.frozen import Claim, FrozenText, Settled
from pinch_server.store.engine import writing
from pinch_server.store.tables import extraction_forms, extraction_texts
from pinch_server.store.waiting import WAIT_SECONDS, GoneError, Waiting

_BATCH: Final = 500
_TOUCHED_MICROS: Final = 3_600_000_000
"""A text's last use is noted once an hour at most."""
_CLAIMED: Final = "claimed"
_MICROS: Final = 1_000_000
_LOG: Final = logging.getLogger(__name__)


class DatabaseFrozen:
    """Frozen texts and forms in a database. Shared by threads.

    Args:
        engine: The database; its schema should be current.
        now: The time (microseconds since the Unix epoch).
        wait_seconds: How long a call waits (seconds).
    """

    def __init__(
        self,
        engine: Engine,
        *,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._engine = engine
        self._now = now
        self._waiting = Waiting("frozen texts", wait_seconds)

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, FrozenText] | None:
        """The texts of those keys that have one, or a refusal; None when nobody tells in time."""
        return self._waiting.ask(lambda _gone: self._find(keys))

    def freeze(self, key: bytes, frozen: FrozenText, claim: Claim) -> FrozenText | None:
        """Keeps a text unless there is one; gives the one that is kept, None when the database does not.

        It was paid for, and no caller waits for it: it takes the time that the database takes.

        Args:
            key: The text's key.
            frozen: The text.
            claim: The claim under which it was written; where it holds it ends with it.
        """
        row = {"key": key, "text": frozen.text, "reason": frozen.reason, "used_at": self._now()}
        try:
            with writing(self._engine) as connection:
                self._insert(connection, extraction_texts, [row])
                if claim.holds:
                    connection.execute(_ending(claim))
            return self._find([key])[key]
        except (SQLAlchemyError, KeyError) as error:
            _LOG.warning("a frozen text cannot be kept: %s", type(error).__name__)
            return None

    def claim(self, key: bytes, seconds: float) -> Claim | None:
        """Claims the writing of a text, so that no other process pays for it meanwhile.

        Args:
            key: What is to be written.
            seconds: How long the claim holds, unless it is given back (seconds).

        Returns:
            The claim, which does not hold where another has it; None when the database does not tell.
        """
        now, table, row = self._now(), extraction_texts, _claim_key(key)
        span = round(seconds * _MICROS)
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        claimed = dialect.insert(table).values(key=row, text=None, reason=_CLAIMED, used_at=now)
        # A process that died gives nothing back: what it claimed is free again when its time is over. So is
        # what begins after the end of a claim made now: it is by a clock that was ahead.
        is_over = (table.c.used_at <= now - span) | (table.c.used_at > now + span)
        claimed = claimed.on_conflict_do_update(
            index_elements=["key"], set_={"used_at": now}, where=is_over
        ).returning(table.c.key)
        try:
            with writing(self._engine) as connection:
                if connection.execute(claimed).first() is not None:
                    return Claim(row, now, holds=True)
                since = connection.scalar(select(table.c.used_at).where(table.c.key == row))
                return Claim(row, since or 0, holds=False)
        except SQLAlchemyError as error:
            _LOG.warning("nobody knows who writes a text: %s", type(error).__name__)
            return None

    def give_back(self, claim: Claim) -> None:
        """Ends a claim that holds, and under which nothing was written."""
        if not claim.holds:
            return
        try:
            with writing(self._engine) as connection:
                connection.execute(_ending(claim))
        except SQLAlchemyError as error:
            _LOG.warning("a claim is held until its time is over: %s", type(error).__name__)

    def settle(self, proposed: Mapping[bytes, str | None]) -> Settled | None:
        """Settles forms for good: each as proposed unless it was settled before.

        Args:
            proposed: For each key a text, or None for the elision.

        Returns:
            What holds; None when the database did not say in time, and then nothing was settled.
        """
        return self._waiting.ask(lambda gone: self._settle(proposed, gone))

    def close(self) -> None:
        """Finishes what is under way, and ends the threads."""
        self._waiting.close()

    def _find(self, keys: Sequence[bytes]) -> dict[bytes, FrozenText]:
        table, found, old = extraction_texts, {}, []
        before = self._now() - _TOUCHED_MICROS
        with self._engine.connect() as connection:
            for start in range(0, len(keys), _BATCH):
                query = select(table).where(table.c.key.in_(keys[start : start + _BATCH]))
                for row in connection.execute(query):
                    found[bytes(row.key)] = FrozenText(row.text, row.reason)
                    if row.used_at < before:
                        old.append(bytes(row.key))
        if old:
            with writing(self._engine) as connection:
                connection.execute(update(table).where(table.c.key.in_(old)).values(used_at=self._now()))
        return found

    def _settle(self, proposed: Mapping[bytes, str | None], gone: Event) -> Settled:
        now, table = self._now(), extraction_forms
        settled = self._forms(list(proposed))
        new = [key for key in sorted(proposed) if key not in settled]
        if new:
            rows = [{"key": key, "text": proposed[key], "created_at": now} for key in new]
            with writing(self._engine) as connection:
                self._insert(connection, table, rows)
                if gone.is_set():
                    raise GoneError
            is_heard = False
            try:
                settled = self._forms(list(proposed))
                is_heard = not gone.is_set()
            finally:
                # The commit itself, or the reading after it, may be what took too long.
                if not is_heard:
                    self._take_back(new, now)
        return Settled(settled, frozenset(new))

    def _take_back(self, keys: Sequence[bytes], now: int) -> None:
        """Makes the forms that were settled here for a caller that has gone what it sent: the elision."""
        table = extraction_forms
        with writing(self._engine) as connection:
            for start in range(0, len(keys), _BATCH):
                ours = table.c.key.in_(keys[start : start + _BATCH]) & (table.c.created_at == now)
                connection.execute(update(table).where(ours).values(text=None))

    def _forms(self, keys: Sequence[bytes]) -> dict[bytes, str | None]:
        table, found = extraction_forms, {}
        with self._engine.connect() as connection:
            for start in range(0, len(keys), _BATCH):
                query = select(table.c.key, table.c.text).where(table.c.key.in_(keys[start : start + _BATCH]))
                for key, text in connection.execute(query):
                    found[bytes(key)] = text
        return found

    def _insert(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        insert = dialect.insert(table).on_conflict_do_nothing(index_elements=["key"])
        connection.execute(insert, [dict(row) for row in rows])


def _ending(claim: Claim) -> Delete:
    """Ends a claim, unless its time was over and another has it."""
    row = extraction_texts.c
    return delete(extraction_texts).where(row.key == claim.row, row.used_at == claim.since)


def _claim_key(key: bytes) -> bytes:
    """The row of a claim, beside that of the text: what reads texts never comes upon it."""
    return hashlib.sha256(b"claim\0" + key).digest()
