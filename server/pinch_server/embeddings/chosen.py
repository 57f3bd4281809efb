"""The embedder that the settings choose."""

from collections.abc import Callable
from typing import Protocol

from pinch_server.core.embedding import Fault
from pinch_server.embeddings.cache import VectorCache
from pinch_server.embeddings.provider import CachedEmbedder, VectorStore
from pinch_server.outbound.breaker import Breaker
from pinch_server.ports import RoundTrips
from pinch_server.settings import RelevanceSettings


class EmbeddingObserver(Protocol):
    """Counts what became of texts that were to be embedded."""

    def vectors_found(self, count: int) -> None:
        """Counts vectors that were in the cache."""
        ...

    def vectors_missed(self, count: int) -> None:
        """Counts vectors that were not."""
        ...

    def embedder_asked(self, seconds: float) -> None:
        """Notes how long new vectors took, had or not (seconds)."""
        ...

    def embedder_unavailable(self, fault: Fault) -> None:
        """Counts a call that needed new vectors and got none."""
        ...


def open_embedder(
    settings: RelevanceSettings,
    observer: EmbeddingObserver,
    monotonic: Callable[[], float],
    store: VectorStore | None = None,
    around: RoundTrips | None = None,
) -> CachedEmbedder | None:
    """Makes ready what the scoring needs; nothing is asked of an endpoint yet.

    Args:
        settings: What the operator has set.
        observer: Counts.
        monotonic: A clock that never goes back (seconds).
        store: Keeps an endpoint's vectors between processes; None: they live as long as this one.
        around: Is around each round trip to an endpoint; None: nothing is.

    Returns:
        The embedder; None where ranking needs no vectors.

    Raises:
        ModelFilesError: The embedded model's files cannot be used.
    """
    if not settings.scoring.needs_vectors:
        return None
    cache = VectorCache(
        settings.cache_bytes, on_hits=observer.vectors_found, on_misses=observer.vectors_missed
    )
    if settings.endpoint:
        # Only now: a client for HTTP is loaded where there is somebody to ask.
        from pinch_server.embeddings.http import Endpoint, HttpEmbedder  # noqa: PLC0415

        return CachedEmbedder(
            HttpEmbedder(Endpoint(settings.endpoint, settings.model), settings.api_key, around),
            model=settings.model,
            cache=cache,
            breaker=Breaker(monotonic),
            store=store,
            on_unavailable=observer.embedder_unavailable,
            on_asked=observer.embedder_asked,
            monotonic=monotonic,
        )
    from pinch_server.embeddings.static import MODEL, StaticEmbedder  # noqa: PLC0415

    return CachedEmbedder(
        StaticEmbedder(monotonic),
        model=MODEL,
        cache=cache,
        is_local=True,
        on_unavailable=observer.embedder_unavailable,
        on_asked=observer.embedder_asked,
        monotonic=monotonic,
    )
