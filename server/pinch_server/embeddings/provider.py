"""Embeddings as the use case asks for them: from the cache, and what is not there in one round trip."""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic as system_monotonic
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.embedding import Fault, Unavailable, Vectors
from pinch_server.embeddings.cache import VectorCache, content_key
from pinch_server.outbound.breaker import Breaker
from pinch_server.outbound.loop import WhenGone

FAIR_SECONDS: Final = 0.1
"""A timeout within less than this says nothing about the endpoint (seconds)."""

_NO_VERDICT: Final = frozenset({Fault.CANCELLED, Fault.TOO_LONG})


class Source(Protocol):
    """Whoever makes vectors."""

    def embed(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None = None
    ) -> Vectors | Unavailable:
        """Embeds texts, none of them blank, within the time; never raises."""
        ...

    def close(self) -> None:
        """Lets go of what it holds."""
        ...


class VectorStore(Protocol):
    """Keeps vectors beyond this process, in float16, which is all the precision they have."""

    def read(self, keys: Sequence[bytes]) -> Mapping[bytes, NDArray[np.float32]]:
        """Those that are kept, by key; empty when they cannot be read."""
        ...

    def write(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keeps vectors, over those of another dimension; what cannot be kept is lost silently."""
        ...


class CachedEmbedder:
    """A source behind a cache and a breaker. Shared by threads.

    Args:
        source: Makes the vectors that are not cached.
        model: Names the source's vectors in the keys.
        cache: Holds vectors between calls.
        breaker: Stops asking a source that fails; None for one that cannot.
        store: Keeps vectors between processes; None where making them again gives the same.
        is_local: Whether the source makes its vectors in this process, the same bits whenever it is asked.
        on_unavailable: Told the reason each time a call that needed new vectors got none.
        on_asked: Told how long the source took, each time it was asked (seconds).
        monotonic: A clock that never goes back (seconds).
    """

    def __init__(
        self,
        source: Source,
        *,
        model: str,
        cache: VectorCache,
        breaker: Breaker | None = None,
        store: VectorStore | None = None,
        is_local: bool = False,
        on_unavailable: Callable[[Fault], None] = lambda _: None,
        on_asked: Callable[[float], None] = lambda _: None,
        monotonic: Callable[[], float] = system_monotonic,
    ) -> None:
        self._source = source
        self._model = model
        self._cache = cache
        self._breaker = breaker
        self._store = store
        self._is_local = is_local
        self._on_unavailable = on_unavailable
        self._on_asked = on_asked
        self._monotonic = monotonic
        self._dimension: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether vectors are made in this process, the same bits whenever they are made."""
        return self._is_local

    def embed(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None = None
    ) -> Vectors | Unavailable:
        """Embeds texts; only those that are not known travel, together, each once.

        Args:
            texts: Any texts, excerpts already; a blank one gets a zero row, which ranks as neutral.
            seconds: Time for the round trip (seconds).
            when_gone: Registers a callback for the end of the call that this is for.

        Returns:
            The vectors in the order of the texts, or why there are none; never an exception.
        """
        keys = self._keys(texts)
        wanted = dict(zip(keys, texts, strict=True))
        wanted.pop(None, None)
        began = self._monotonic()
        known = self._comparable(self._known([key for key in wanted if key is not None]))
        if self._store is not None:
            # A store that was slow has used up some of the time.
            seconds -= self._monotonic() - began
        missing = {key: text for key, text in wanted.items() if key is not None and key not in known}
        if missing:
            answer = self._travel(list(missing.values()), seconds, when_gone)
            fresh = (
                self._kept(known, dict(zip(missing, answer.rows, strict=True)))
                if isinstance(answer, Vectors)
                else answer
            )
            if isinstance(fresh, Unavailable):
                self._on_unavailable(fresh.fault)
                return fresh
            known |= fresh
        return Vectors(_rows(keys, known))

    def recall(self, texts: Sequence[str]) -> tuple[NDArray[np.float32] | None, ...]:
        """The vectors that are known already, None for the others; makes no round trip."""
        keys = self._keys(texts)
        known = self._known(list(dict.fromkeys(key for key in keys if key is not None)))
        return tuple(None if key is None else known.get(key) for key in keys)

    def close(self) -> None:
        """Lets go of the source."""
        self._source.close()

    def _keys(self, texts: Sequence[str]) -> list[bytes | None]:
        return [content_key(self._model, text) if text.strip() else None for text in texts]

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        known = self._cache.find(keys)
        if self._store is not None and len(known) < len(keys):
            stored = dict(self._store.read([key for key in keys if key not in known]))
            self._cache.keep(stored)
            known |= stored
        return known

    def _comparable(self, known: dict[bytes, NDArray[np.float32]]) -> dict[bytes, NDArray[np.float32]]:
        """Those of the source's dimension: one that was changed leaves vectors of the other in the store."""
        dimensions = {len(vector) for vector in known.values()}
        if len(dimensions) < 2 and self._dimension is None:
            return known
        return {key: vector for key, vector in known.items() if len(vector) == self._dimension}

    def _kept(
        self, known: Mapping[bytes, NDArray[np.float32]], fresh: dict[bytes, NDArray[np.float32]]
    ) -> dict[bytes, NDArray[np.float32]] | Unavailable:
        """Keeps new vectors, unless they cannot be compared with the known ones: then those are forgotten."""
        before = {len(vector) for vector in known.values()}
        now = {len(vector) for vector in fresh.values()}
        self._dimension = min(now)
        if before and before != now:
            self._cache.drop(known)
            return Unavailable(
                Fault.WRONG_DIMENSION, f"{sorted(now)} numbers a vector, before {sorted(before)}"
            )
        self._cache.keep(fresh)
        if self._store is not None:
            self._store.write(fresh)
        return fresh

    def _travel(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None
    ) -> Vectors | Unavailable:
        """Asks the source unless the breaker forbids it, and tells the breaker how it went."""
        breaker = self._breaker
        if breaker is None:
            return self._ask(texts, seconds, when_gone)
        if not breaker.allows():
            return Unavailable(
                Fault.BREAKER_OPEN, "the endpoint failed repeatedly and is left alone for a while"
            )
        verdict = breaker.abandoned
        try:
            answer = self._ask(texts, seconds, when_gone)
            if isinstance(answer, Vectors):
                verdict = breaker.succeeded
            elif answer.fault not in _NO_VERDICT and not (
                answer.fault is Fault.TIMEOUT and seconds < FAIR_SECONDS
            ):
                verdict = breaker.failed
        finally:
            verdict()
        return answer

    def _ask(self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None) -> Vectors | Unavailable:
        if seconds <= 0:
            return Unavailable(Fault.TIMEOUT, "no time was left to ask")
        before = self._monotonic()
        answer = self._source.embed(texts, seconds, when_gone)
        self._on_asked(self._monotonic() - before)
        return answer


def _rows(keys: Sequence[bytes | None], known: Mapping[bytes, NDArray[np.float32]]) -> NDArray[np.float32]:
    """A row for each key, zero for none."""
    dimension = next((len(vector) for vector in known.values()), 0)
    rows = np.zeros((len(keys), dimension), dtype=np.float32)
    for row, key in zip(rows, keys, strict=True):
        if key is not None:
            row[:] = known[key]
    return rows
