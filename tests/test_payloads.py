"""The store of payloads: one for each session, bounded, and forgotten in time."""

from concurrent.futures import ThreadPoolExecutor

from pinch_server.core.probe import Payload
from pinch_server.decide.payloads import RecentPayloads


def payload(messages: int = 1) -> Payload:
    """A payload of so many messages."""
    return Payload(b"", b"12345678" * messages, messages)


def test_the_newest_payload_of_each_session() -> None:
    """Each session has one payload: the one put last."""
    recent = RecentPayloads()
    recent.put("a", payload(1), 0)
    recent.put("b", payload(2), 0)
    recent.put("a", payload(3), 0)
    assert recent.get("a", 1) == payload(3)
    assert recent.get("b", 1) == payload(2)
    assert recent.get("c", 1) is None


def test_payloads_are_forgotten_in_time() -> None:
    """A payload older than the longest life of a cached prefix is not known any more."""
    recent = RecentPayloads(ttl_seconds=10)
    recent.put("a", payload(), 0)
    assert recent.get("a", 10) is not None
    assert recent.get("a", 10.5) is None


def test_memory_is_bounded() -> None:
    """The sessions unheard of for longest make room."""
    recent = RecentPayloads(most_messages=150)
    for name in "abc":
        recent.put(name, payload(10), 0)
    recent.put("a", payload(10), 0)
    recent.put("d", payload(10), 0)
    assert [recent.get(name, 0) is not None for name in "abcd"] == [True, False, True, True]
    recent.put("e", payload(200), 0)
    assert [recent.get(name, 0) is not None for name in "abcde"] == [False] * 5


def test_threads_share_it() -> None:
    """Threads that put and get at once leave no more than the bound."""
    recent = RecentPayloads(most_messages=1_000)

    def work(number: int) -> None:
        for step in range(200):
            recent.put(str((number * step) % 37), payload(step % 9), step)
            recent.get(str(step % 37), step)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    recent.put("last", payload(), 200)
    assert recent.get("last", 200) == payload()
