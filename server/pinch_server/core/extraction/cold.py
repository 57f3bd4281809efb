"""What the provider's cache holds of a session, as far as that is certain. What is not known is warm.

A wrong "cold" costs twelve times what a right one saves (design of extraction, section 11), so every doubt is
decided for warm. What a provider billed says whether it caches prompts at all, never that a prefix is gone:
instructions and tools may be read from the cache while the messages are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pinch_server.core.pricing import CacheContext, CacheState

MARGIN_SECONDS: Final = 60
"""How long past its time a prefix is still taken to be there (seconds)."""
LONGEST_SECONDS: Final = 3_600
"""How long providers keep a prefix at most: what holds where nobody said how long (seconds)."""
SHORTEST_SECONDS: Final = 300
"""How long each provider that caches keeps one at least (seconds)."""
CACHED_TOKENS: Final = 4_096
"""From this size on each provider that caches does so (tokens)."""
MISSES: Final = 3
"""Calls that should have read from a cache and did not, after which there is none."""
_MICROS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PastCall:
    """An earlier call of a session.

    Attributes:
        at_micros: When it was (microseconds since the Unix epoch).
        prompt_tokens: What its provider counted; None where nobody reported (tokens).
        cached_tokens: What the provider read from its cache (tokens).
        written_tokens: What it wrote to it (tokens).
    """

    at_micros: int
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    written_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What is taken to be so.

    Attributes:
        state: What the cache holds.
        idle_seconds: How long ago the session's last call was; None where nobody knows (seconds).
    """

    state: CacheState
    idle_seconds: float | None = None


def certain_state(
    cache: CacheContext,
    now_micros: int,
    past: Sequence[PastCall] = (),
    longest_ttl: int = 0,
) -> Reading:
    """What the cache holds: as the caller says, else as the last calls and what was billed for them tell.

    Args:
        cache: What the caller knows.
        now_micros: The time (microseconds since the Unix epoch).
        past: The session's last calls, newest first.
        longest_ttl: The longest time to live that the session ever asked for: what was written for so long
            may still be there (seconds).
    """
    last = max(
        (at for at in (cache.last_call_unix_micros, *(call.at_micros for call in past)) if at is not None),
        default=None,
    )
    idle = None if last is None else max(0.0, (now_micros - last) / _MICROS)
    if cache.state is not None:
        return Reading(cache.state, idle)
    if _has_none(past):
        return Reading(CacheState.NONE, idle)
    ttl = LONGEST_SECONDS if cache.ttl_seconds is None else max(cache.ttl_seconds, longest_ttl)
    is_gone = idle is not None and idle >= ttl + MARGIN_SECONDS
    return Reading(CacheState.COLD if is_gone else CacheState.WARM, idle)


def _has_none(past: Sequence[PastCall]) -> bool:
    """Whether a provider caches nothing: calls that it must have read from a cache for were billed whole."""
    if any(call.cached_tokens or call.written_tokens for call in past):
        return False
    return sum(_missed(later, earlier) for later, earlier in pairwise(past)) >= MISSES


def _missed(later: PastCall, earlier: PastCall) -> bool:
    """Whether a call was billed whole although the one before it was large and but a moment ago."""
    sizes = later.prompt_tokens, earlier.prompt_tokens
    is_large = all(size is not None and size >= CACHED_TOKENS for size in sizes)
    is_soon = later.at_micros - earlier.at_micros <= SHORTEST_SECONDS * _MICROS
    return is_large and is_soon and later.cached_tokens == 0
