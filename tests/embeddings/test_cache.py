"""Vectors by content."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.embeddings.cache import Vector, VectorCache, content_key

ENTRY = 4 * 4 + 256


def vector(value: float) -> Vector:
    return np.full(4, value, dtype=np.float32)


def test_a_key_is_of_model_and_text() -> None:
    """Another model or another text has another key; lone surrogates have one too."""
    keys = {content_key("m", "a"), content_key("m", "b"), content_key("n", "a"), content_key("ma", "")}
    assert len(keys | {content_key("m", "\ud83d"), content_key("m", "?")}) == 6
    assert content_key("m", "a") == content_key("m", "a")


def test_a_key_is_the_same_on_every_machine() -> None:
    """Keys are kept beyond the process, so their bits are fixed."""
    assert content_key("m", "text").hex().startswith("22eefd68ee2a7914")


def test_what_was_kept_is_found_and_counted() -> None:
    """Vectors come back as they were kept, and hits and misses are told."""
    hits: list[int] = []
    misses: list[int] = []
    cache = VectorCache(on_hits=hits.append, on_misses=misses.append)
    cache.keep({b"a": vector(1), b"b": vector(2)})
    found = cache.find([b"a", b"b", b"c"])
    assert {key: value.tolist() for key, value in found.items()} == {b"a": [1] * 4, b"b": [2] * 4}
    assert (hits, misses) == ([2], [1])


def test_the_longest_unused_goes_first() -> None:
    """When there is no room the vector that was used longest ago is let go."""
    cache = VectorCache(2 * ENTRY)
    cache.keep({b"a": vector(1), b"b": vector(2)})
    cache.find([b"a"])
    cache.keep({b"c": vector(3)})
    assert set(cache.find([b"a", b"b", b"c"])) == {b"a", b"c"}


@pytest.mark.parametrize("room", [0, ENTRY - 1])
def test_what_does_not_fit_is_not_kept(room: int) -> None:
    """A vector larger than the whole cache is left out, and throws nothing else out."""
    cache = VectorCache(room)
    cache.keep({b"a": vector(1)})
    assert len(cache) == cache.size_bytes == 0


def test_kept_vectors_cannot_be_changed() -> None:
    """Neither the caller's array nor one that was found changes what is kept."""
    cache = VectorCache()
    mine = vector(1)
    cache.keep({b"a": mine})
    mine[:] = 9
    found = cache.find([b"a"])[b"a"]
    assert found.tolist() == [1] * 4
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 9


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40)), max_size=60))
def test_memory_stays_within_its_bound(steps: list[tuple[int, int]]) -> None:
    """Whatever is kept, replaced and dropped, the bytes add up and stay within the bound."""
    cache = VectorCache(5 * ENTRY)
    for key, size in steps:
        cache.keep({bytes([key]): np.zeros(size, dtype=np.float32)})
        if size % 7 == 0:
            cache.drop([bytes([key])])
        held = cache.find([bytes([number]) for number in range(10)])
        assert cache.size_bytes == sum(kept.nbytes + 256 for kept in held.values()) <= 5 * ENTRY


def test_threads_share_a_cache() -> None:
    """Threads that keep and find at once lose no count."""
    cache = VectorCache(50 * ENTRY)

    def work(number: int) -> None:
        for step in range(200):
            key = bytes([number, step % 30])
            cache.keep({key: vector(number)})
            found = cache.find([key])
            assert all(value[0] == number for value in found.values())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.size_bytes == len(cache) * ENTRY <= 50 * ENTRY
