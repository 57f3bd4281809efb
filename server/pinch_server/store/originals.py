"""Originals of trimmed results, encrypted before they reach the database, each tenant's for itself.

AES-256-GCM with a key made of the operator's secret (HKDF-SHA256); the row's own key is authenticated with
it, so that no row can be put in the place of another. Names are keyed hashes: without the secret nobody can
tell whether a text is kept.
"""

import base64
import hashlib
import hmac
import logging
import os
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from pinch_server.store.engine import reading, writing
from pinch_server.store.tables import originals
from pinch_server.store.waiting import WAIT_SECONDS, Waiting

REFERENCE_CHARS: Final = 24
"""The length of a reference (characters)."""
_NONCE_BYTES: Final = 12
_MOST_WAITING_CHARS: Final = 64_000_000
"""Texts that wait to be written, all together (characters): a database that hangs takes no more memory."""
_MOST_NAMED_CHARS: Final = 32_000_000
"""Texts whose references are remembered, all together (characters)."""
_MOST_REMEMBERED: Final = 4_096
_MICROS: Final = 1_000_000
_ROOM_SHARES: Final = 64
"""All of them are added up once for each such part of their bound that a process writes."""
_EXPAND_SECONDS: Final = 2.0
"""How long whoever asks for an original waits for the database (seconds)."""
_BATCH: Final = 500
_LOG: Final = logging.getLogger(__name__)


class DatabaseOriginals:
    """Originals by tenant and reference. Shared by threads.

    Args:
        engine: The database; its schema should be current.
        secret: What they are encrypted with.
        ttl_seconds: How long each is kept (seconds).
        max_chars: Longest that is kept (characters).
        max_bytes: Most that all of them may take (bytes); the oldest go first. Each further process that
            writes to the database may exceed it by a sixty-fourth.
        now: The time (microseconds since the Unix epoch).
        wait_seconds: How long a call that is pruned waits (seconds).
    """

    def __init__(
        self,
        engine: Engine,
        secret: str,
        *,
        ttl_seconds: int,
        max_chars: int,
        max_bytes: int,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._engine = engine
        self._waiting = Waiting("what was expanded", wait_seconds)
        # Apart: what is asked for may take longer than what a call that is pruned waits for.
        self._asking = Waiting("originals", _EXPAND_SECONDS)
        self._seal = AESGCM(_derived(secret, b"pinch originals seal"))
        self._names = _derived(secret, b"pinch originals names")
        self._ttl = ttl_seconds * _MICROS
        self._max_chars = max_chars
        self._max_bytes = max_bytes
        self._room = max_bytes // _ROOM_SHARES
        # Nobody knows at first what others wrote.
        self._before_sum = 0
        self._now = now
        self._lock = Lock()
        self._waiting_chars = 0
        self._unwritten: dict[bytes, str] = {}
        self._unnoted: set[bytes] = set()
        self._named_chars = 0
        self._references: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._kept: OrderedDict[bytes, int] = OrderedDict()
        # Its thread starts with the first use.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="pinch-originals")

    def reference(self, tenant: str, text: str) -> str:
        """The reference of a text, the same on every replica; empty where it is too long to be kept."""
        if len(text) > self._max_chars:
            return ""
        with self._lock:
            known = self._references.get((tenant, text))
            if known is not None:
                self._references.move_to_end((tenant, text))
                return known
        named = self._name(b"reference", tenant, text.encode("utf-8", "surrogatepass"))
        reference = base64.b32encode(named[:15]).decode().lower()
        with self._lock:
            if (tenant, text) not in self._references:
                self._references[tenant, text] = reference
                self._named_chars += len(text)
            while self._named_chars > _MOST_NAMED_CHARS or len(self._references) > _MOST_REMEMBERED:
                (_, oldest), _ = self._references.popitem(last=False)
                self._named_chars -= len(oldest)
        return reference

    def keep(self, tenant: str, texts: Sequence[str]) -> None:
        """Keeps texts some time soon; those that cannot be kept are lost, and told as such when asked for."""
        due = self._now() - self._ttl // 2
        named = [(self.reference(tenant, text), text) for text in texts]
        rows = [(self._row(tenant, reference), text) for reference, text in named if reference]
        with self._lock:
            # Written again at half its time, so that what is still referred to does not run out.
            wanted = [
                (key, text)
                for key, text in rows
                if self._kept.get(key, 0) <= due and key not in self._unwritten
            ]
            chars = sum(len(text) for _, text in wanted)
            # What is alone is taken at any size: else it would never be kept.
            if not wanted or (self._waiting_chars and self._waiting_chars + chars > _MOST_WAITING_CHARS):
                return
            with suppress(RuntimeError):
                self._writer.submit(self._write, wanted, chars)
                self._waiting_chars += chars
                self._unwritten.update(wanted)

    def expand(self, tenant: str, reference: str) -> str | None:
        """The text of a reference of this tenant; None where there is none (any more), or nobody can tell."""
        if len(reference) != REFERENCE_CHARS:
            return None
        key = self._row(tenant, reference)
        with self._lock:
            # Its conversation was answered just now, or the database hangs.
            text = self._unwritten.get(key)
        if text is None:
            sealed = self._asking.ask(lambda _gone: self._read(key))
            if sealed is None:
                return None
            try:
                text = self._opened(key, sealed)
            except (InvalidTag, zlib.error, ValueError):
                _LOG.warning("an original cannot be decrypted: is originals.key another one than it was?")
                return None
        self._note_expanded(key)
        return text

    def expanded(self, tenant: str, texts: Iterable[str]) -> frozenset[str]:
        """Those of the texts whose originals were asked for; none where nobody tells in time."""
        by_key = {self._row(tenant, self.reference(tenant, text)): text for text in texts}
        asked = self._waiting.ask(lambda _gone: self._expanded(list(by_key)))
        return frozenset(by_key[key] for key in asked or ())

    def close(self) -> None:
        """Finishes what is being written, and ends the threads."""
        self._writer.shutdown(wait=True)
        self._waiting.close()
        self._asking.close()

    def _read(self, key: bytes) -> bytes | None:
        youngest = self._now() - self._ttl
        found = select(originals.c.sealed).where(originals.c.key == key, originals.c.created_at > youngest)
        with reading(self._engine, _EXPAND_SECONDS) as connection:
            sealed = connection.scalar(found)
        return None if sealed is None else bytes(sealed)

    def _expanded(self, keys: Sequence[bytes]) -> list[bytes]:
        table, asked = originals, []
        with reading(self._engine, WAIT_SECONDS) as connection:
            for start in range(0, len(keys), _BATCH):
                some = table.c.key.in_(keys[start : start + _BATCH])
                query = select(table.c.key).where(some, table.c.expanded_at.is_not(None))
                asked += [bytes(key) for key in connection.execute(query).scalars()]
        return asked

    def _write(self, wanted: Sequence[tuple[bytes, str]], chars: int) -> None:
        try:
            self._written(wanted)
        finally:
            with self._lock:
                self._waiting_chars -= chars
                for key, _ in wanted:
                    self._unwritten.pop(key, None)

    def _written(self, wanted: Sequence[tuple[bytes, str]]) -> None:
        now, table = self._now(), originals
        rows, written = [], 0
        for key, text in sorted(wanted):
            sealed = self._sealed(key, text)
            written += len(sealed)
            rows.append({"key": key, "sealed": sealed, "size": len(sealed), "created_at": now})
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        insert = dialect.insert(table)
        renewed = insert.on_conflict_do_update(
            index_elements=["key"],
            set_={name: insert.excluded[name] for name in ("sealed", "size", "created_at")},
        )
        try:
            with writing(self._engine) as connection:
                connection.execute(renewed, rows)
            self._make_room(written)
        except SQLAlchemyError as error:
            _LOG.warning("originals cannot be kept: %s", type(error).__name__)
            return
        with self._lock:
            for key, _ in wanted:
                self._kept[key] = now
                self._kept.move_to_end(key)
            while len(self._kept) > _MOST_REMEMBERED:
                self._kept.popitem(last=False)

    def _note_expanded(self, key: bytes) -> None:
        """Notes some time soon that an original was asked for: who asked does not wait for that."""
        with self._lock, suppress(RuntimeError):
            if key not in self._unnoted and len(self._unnoted) < _MOST_REMEMBERED:
                self._writer.submit(self._noted, key)
                self._unnoted.add(key)

    def _noted(self, key: bytes) -> None:
        with self._lock:
            self._unnoted.discard(key)
        asked = update(originals).where(originals.c.key == key).values(expanded_at=self._now())
        try:
            with writing(self._engine) as connection:
                connection.execute(asked)
        except SQLAlchemyError as error:
            _LOG.warning("that an original was asked for is not noted: %s", type(error).__name__)

    def _make_room(self, written: int) -> None:
        """Deletes the oldest when all of them may be over their bound.

        Args:
            written: What was written now (bytes).
        """
        self._before_sum -= written
        if self._before_sum >= 0:
            return
        table = originals
        with self._engine.connect() as connection:
            # Over an index that holds the sizes: the table itself would have to be read whole.
            total = int(connection.execute(select(func.sum(table.c.size))).scalar() or 0)
            due: list[bytes] = []
            if total > self._max_bytes:
                oldest = select(table.c.key, table.c.size).order_by(table.c.created_at, table.c.key)
                # Somewhat less than allowed is left, or each text would have all of them added up.
                for key, size in connection.execute(oldest):
                    if total <= self._max_bytes - self._room:
                        break
                    due.append(bytes(key))
                    total -= size
        for start in range(0, len(due), _BATCH):
            with writing(self._engine) as connection:
                connection.execute(delete(table).where(table.c.key.in_(due[start : start + _BATCH])))
        self._before_sum = min(self._room, self._max_bytes - total)

    def _sealed(self, key: bytes, text: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        plain = zlib.compress(text.encode("utf-8", "surrogatepass"))
        return nonce + self._seal.encrypt(nonce, plain, key)

    def _opened(self, key: bytes, sealed: bytes) -> str:
        """The text of a row.

        Raises:
            InvalidTag: It was sealed with another secret, or is not what was stored.
        """
        plain = self._seal.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], key)
        return zlib.decompress(plain).decode("utf-8", "surrogatepass")

    def _row(self, tenant: str, reference: str) -> bytes:
        return self._name(b"row", tenant, reference.encode("utf-8", "surrogatepass"))

    def _name(self, purpose: bytes, tenant: str, what: bytes) -> bytes:
        owner = tenant.encode("utf-8", "surrogatepass")
        return hmac.new(self._names, b"\0".join([purpose, owner, what]), hashlib.sha256).digest()


def _derived(secret: str, purpose: bytes) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())
