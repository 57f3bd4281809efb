"""Vectors by content: a text that was embedded once does not travel again."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

MAX_BYTES: Final = 64 * 1024 * 1024
"""Room for some 20,000 vectors of 768 dimensions."""

_ENTRY_BYTES: Final = 256


def content_key(model: str, text: str) -> bytes:
    """The name of a text's vector: 32 bytes, the same on every machine."""
    # The length keeps a model's name from running into the text.
    head = f"{len(model)}:{model}:".encode("utf-8", "surrogatepass")
    return hashlib.sha256(head + text.encode("utf-8", "surrogatepass")).digest()


class VectorCache:
    """The vectors used last, as many as fit. Shared by threads.

    Args:
        max_bytes: Most memory they may take, bookkeeping included (bytes); 0 keeps nothing.
        on_hits: Told how many vectors were found, when any were.
        on_misses: Told how many were not.
    """

    def __init__(
        self,
        max_bytes: int = MAX_BYTES,
        *,
        on_hits: Callable[[int], None] = lambda _: None,
        on_misses: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._max_bytes = max_bytes
        self._on_hits = on_hits
        self._on_misses = on_misses
        self._lock = Lock()
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._bytes = 0

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are here, by key; they are read-only and count as used now."""
        found: dict[bytes, Vector] = {}
        with self._lock:
            for key in keys:
                vector = self._vectors.get(key)
                if vector is not None:
                    self._vectors.move_to_end(key)
                    found[key] = vector
        misses = len(keys) - len(found)
        if found:
            self._on_hits(len(found))
        if misses:
            self._on_misses(misses)
        return found

    def keep(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps vectors, and lets go of those that were not used for longest."""
        with self._lock:
            for key, vector in vectors.items():
                self._forget(key)
                own = vector.astype(np.float32)
                own.flags.writeable = False
                if _size(own) > self._max_bytes:
                    continue
                self._vectors[key] = own
                self._bytes += _size(own)
                while self._bytes > self._max_bytes:
                    self._forget(next(iter(self._vectors)))

    def drop(self, keys: Iterable[bytes]) -> None:
        """Forgets these vectors, if they are here."""
        with self._lock:
            for key in keys:
                self._forget(key)

    @property
    def size_bytes(self) -> int:
        """Memory in use, bookkeeping included (bytes)."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._vectors)

    def _forget(self, key: bytes) -> None:
        vector = self._vectors.pop(key, None)
        if vector is not None:
            self._bytes -= _size(vector)


def _size(vector: Vector) -> int:
    return vector.nbytes + _ENTRY_BYTES
