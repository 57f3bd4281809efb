"""Whether the provider's cache is gone for certain. What is not known is warm.

A wrong "cold" costs twelve times what a right one saves (design of extraction, section 11), so every doubt is
decided for warm.
"""

from typing import Final

from pinch_server.core.pricing import CacheContext, CacheState

MARGIN_SECONDS: Final = 60
"""How long past its time a prefix is still taken to be there (seconds)."""
_MICROS: Final = 1_000_000


def certain_state(cache: CacheContext, now_micros: int) -> CacheState:
    """What the cache holds, cold only where the caller said so or a last call is long enough past.

    Args:
        cache: What the caller knows.
        now_micros: The time (microseconds since the Unix epoch).
    """
    if cache.state is not None:
        return cache.state
    idle = idle_seconds(cache, now_micros)
    if idle is None or cache.ttl_seconds is None:
        return CacheState.WARM
    return CacheState.COLD if idle >= cache.ttl_seconds + MARGIN_SECONDS else CacheState.WARM


def idle_seconds(cache: CacheContext, now_micros: int) -> float | None:
    """How long ago the session's last call was; None where nobody said (seconds)."""
    if cache.last_call_unix_micros is None:
        return None
    return max(0.0, (now_micros - cache.last_call_unix_micros) / _MICROS)
