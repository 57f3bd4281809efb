"""What the provider's cache is taken to hold: as told, as clock and bills tell; in doubt it is warm."""

import pytest

from pinch_server.core.extraction.cold import (
    CACHED_TOKENS,
    LONGEST_SECONDS,
    MARGIN_SECONDS,
    MISSES,
    SHORTEST_SECONDS,
    PastCall,
    certain_state,
)
from pinch_server.core.pricing import CacheContext, CacheState

NOW = 1_800_000_000_000_000
SECOND = 1_000_000
NOTHING = CacheContext()


def ago(seconds: float, cached: int | None = None, prompt: int | None = 50_000, written: int = 0) -> PastCall:
    return PastCall(NOW - round(seconds * SECOND), prompt, cached, written)


def state(*past: PastCall, cache: CacheContext = NOTHING) -> CacheState:
    return certain_state(cache, NOW, past).state


def missed(calls: int, apart: float = SHORTEST_SECONDS) -> tuple[PastCall, ...]:
    """Calls of which none read anything from a cache."""
    return tuple(ago(10 + number * apart, cached=0) for number in range(calls))


@pytest.mark.parametrize("said", list(CacheState))
def test_what_the_caller_says_holds(said: CacheState) -> None:
    """The caller's word stands against the clock and against every bill."""
    assert state(*missed(9), cache=CacheContext(said)) is said
    assert state(ago(10**6, cached=9), cache=CacheContext(said)) is said


@pytest.mark.parametrize("ttl", [300, LONGEST_SECONDS])
def test_cold_is_a_prefix_that_has_run_out_for_certain(ttl: int) -> None:
    """From a minute past its time on a prefix is gone; before, or with no call on record, it is warm."""
    cache = CacheContext(ttl_seconds=ttl)
    over = ttl + MARGIN_SECONDS
    assert state(ago(over), cache=cache) is CacheState.COLD
    assert state(ago(over - 1), cache=cache) is CacheState.WARM
    assert state(cache=cache) is CacheState.WARM
    assert (
        state(cache=CacheContext(last_call_unix_micros=NOW - over * SECOND, ttl_seconds=ttl))
        is CacheState.COLD
    )


def test_an_unknown_time_to_live_is_the_longest_there_is() -> None:
    """Where nobody says how long a prefix is kept it is an hour, as long as any provider keeps one."""
    assert state(ago(LONGEST_SECONDS)) is CacheState.WARM
    assert state(ago(LONGEST_SECONDS + MARGIN_SECONDS)) is CacheState.COLD


def test_the_later_clock_holds() -> None:
    """Of the caller's word and the record, the later call tells how long the session has been idle."""
    cache = CacheContext(last_call_unix_micros=NOW - 5_000 * SECOND, ttl_seconds=300)
    reading = certain_state(cache, NOW, [ago(20)])
    assert (reading.state, reading.idle_seconds) == (CacheState.WARM, 20.0)
    reading = certain_state(cache, NOW, [ago(9_000)])
    assert (reading.state, reading.idle_seconds) == (CacheState.COLD, 5_000.0)


def test_a_cache_that_is_never_read_is_none() -> None:
    """Large calls in quick succession that are each billed whole show a provider that caches nothing."""
    assert state(*missed(MISSES + 1)) is CacheState.NONE
    assert state(*missed(MISSES)) is CacheState.WARM


@pytest.mark.parametrize(
    "past",
    [
        (*missed(MISSES), ago(2_000, cached=1)),
        (*missed(MISSES), ago(2_000, cached=0, written=1)),
        missed(MISSES + 3, apart=SHORTEST_SECONDS + 1),
        tuple(ago(10 * n, cached=0, prompt=CACHED_TOKENS - 1) for n in range(8)),
        tuple(ago(10 * n, cached=0, prompt=None) for n in range(8)),
        tuple(ago(10 * n, cached=None) for n in range(8)),
    ],
    ids=["read once", "written once", "long pauses", "small prompts", "sizes unknown", "nobody counted"],
)
def test_a_doubt_is_decided_for_warm(past: tuple[PastCall, ...]) -> None:
    """One read or write, pauses, small prompts and counts that nobody gave show nothing."""
    assert state(*past) is CacheState.WARM


def test_a_read_of_nothing_is_no_cold_cache() -> None:
    """A call that read nothing says nothing of the prefix now: it has just been written."""
    assert state(ago(10, cached=0, written=40_000), ago(9_000, cached=30_000)) is CacheState.WARM


@pytest.mark.parametrize(
    ("longest", "state"), [(0, CacheState.COLD), (300, CacheState.COLD), (3_600, CacheState.WARM)]
)
def test_what_was_written_for_longer_may_still_be_there(longest: int, state: CacheState) -> None:
    """A session that once asked for an hour is not cold after five minutes, whatever it asks for now."""
    cache = CacheContext(last_call_unix_micros=NOW - 400 * SECOND, ttl_seconds=300)
    assert certain_state(cache, NOW, (), longest).state is state
