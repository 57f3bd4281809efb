"""A large conversation that is worked on gives way to small calls that come."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Chars3
from pinch_server.core.limits import Limits
from pinch_server.core.planning import plan_pruning
from pinch_server.decide import Lanes, Newcomers, Patience, lanes
from pinch_server.rpc.pools import Threads
from tests.core.builders import round_of, user
from tests.gateways.test_in_time import Hand

MB = 1_000_000
FOR_EVER = threading.TIMEOUT_MAX


@dataclass
class Read(Hand):
    """A clock that tells when somebody looks at it."""

    looked: threading.Event = field(default_factory=threading.Event)

    def monotonic(self) -> float:
        self.looked.set()
        return super().monotonic()


@pytest.fixture
def one_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_large_conversation_goes_on_when_the_small_call_is_answered(
    monkeypatch: pytest.MonkeyPatch, one_thread: ThreadPoolExecutor
) -> None:
    """What gives way to a call goes on after that call's answer, not before."""
    monkeypatch.setattr(lanes, "_GIVES_WAY_SECONDS", 3600)
    clock = Read()
    newcomers = Newcomers(clock)
    order: list[str] = []

    def answer() -> None:
        assert clock.looked.wait(30)
        order.append("small")

    with Lanes(clock, newcomers=newcomers).place(MB, Patience()) as patience:
        clock.at += 3600
        small = newcomers.came(answer)
        clock.looked.clear()
        one_thread.submit(small)
        patience.place.give_way()
        order.append("large")
    assert order == ["small", "large"]


def test_it_goes_on_at_once_when_nobody_is_to_be_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a call that is over or large, that came long ago, or before having worked as long."""
    clock = Hand()
    newcomers = Newcomers(clock)
    with Lanes(clock, newcomers=newcomers).place(MB, Patience()) as patience:
        give_way = patience.place.give_way
        give_way()
        # Any wait below would last as long as the test's patience.
        monkeypatch.setattr(lanes, "_GIVES_WAY_SECONDS", FOR_EVER)
        newcomers.came(lambda: None)
        give_way()
        clock.at += 3600
        newcomers.came(lambda: None)()
        give_way()
        newcomers.came(newcomers.is_large)()
        give_way()
        monkeypatch.setattr(lanes, "_GIVES_WAY_SECONDS", 1)
        newcomers.came(lambda: None)
        clock.at += 1
        give_way()


def test_it_gives_way_only_while_its_own_caller_has_time_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who could not be ready before its deadline after giving way gives way to nobody."""
    monkeypatch.setattr(lanes, "_GIVES_WAY_SECONDS", FOR_EVER)
    clock = Hand()
    newcomers = Newcomers(clock)
    lane = Lanes(clock, newcomers=newcomers)
    hour = 3600
    # A megabyte is known to take 10 hours.
    with lane.place(MB, Patience()):
        clock.at += 10 * hour
    with lane.place(MB, Patience(13 * hour)) as patience:
        clock.at += 4 * hour
        newcomers.came(lambda: None)
        # Any wait would last as long as the test's patience: 6 hours are to come, and 9 are left.
        patience.place.give_way()
        clock.at += 9 * hour
        patience.place.give_way()


def test_a_call_that_fails_is_over_too() -> None:
    """A call is over when its answer is an error."""
    newcomers = Newcomers(Hand())
    answer = newcomers.came(lambda: 1 // 0)
    newest = newcomers.newest
    assert newest is not None
    assert not newest.is_over
    with pytest.raises(ZeroDivisionError):
        answer()
    assert newest.is_over
    newest.wait(FOR_EVER)


def test_nobody_is_given_way_to_where_most_calls_are_large() -> None:
    """After many large calls a new one is not waited for, and after many small ones it is again."""
    newcomers = Newcomers(Hand())
    for _ in range(10):
        newcomers.came(newcomers.is_large)()
    newcomers.came(lambda: None)
    assert newcomers.newest is None
    for _ in range(10):
        newcomers.came(lambda: None)()
    assert newcomers.newest is not None


def test_a_large_call_says_so_before_it_waits_for_its_turn() -> None:
    """A call that has a place in a lane is over for those that would give way to it; a small one is not."""
    clock = Hand()
    newcomers = Newcomers(clock)
    lane = Lanes(clock, newcomers=newcomers)
    seen: list[bool] = []

    def work(size: int) -> None:
        newest = newcomers.newest
        assert newest is not None
        with lane.place(size, Patience()):
            seen.append(newest.is_over)

    for size in (MB, 10):
        newcomers.came(work)(size)
    assert seen == [True, False]


def test_turns_are_short_while_a_large_conversation_is_worked_on() -> None:
    """Turns are short from the first large conversation's begin to the last one's end, but not aside."""
    usual = sys.getswitchinterval()
    lane = Lanes(Hand())
    with lane.place(10, Patience()):
        assert sys.getswitchinterval() == usual
    with lane.place(MB, Patience()) as patience:
        short = sys.getswitchinterval()
        assert short < usual / 2
        with lane.place(8 * MB, Patience()):
            assert sys.getswitchinterval() == short
        assert sys.getswitchinterval() == short
        with patience.place.aside():
            assert sys.getswitchinterval() == usual
        assert sys.getswitchinterval() == short
    assert sys.getswitchinterval() == usual


def test_calls_that_threads_are_given_are_newcomers() -> None:
    """Each call that a server's threads are given is a newcomer until it is answered; a stream never is."""
    newcomers = Newcomers(Hand())
    threads = Threads(1, newcomers=newcomers)
    try:
        assert threads.streams.submit(lambda: 1).result(30) == 1
        assert newcomers.newest is None
        go_on = threading.Event()
        call = threads.calls.submit(go_on.wait, 30)
        newest = newcomers.newest
        assert newest is not None
        assert not newest.is_over
        go_on.set()
        assert call.result(30)
        newest.wait(FOR_EVER)
        assert newest.is_over
    finally:
        threads.shutdown()


def test_a_plan_asks_between_its_pieces_and_is_the_same() -> None:
    """An event asks before each result that it trims whether to give way, and decides nothing by it."""
    names = [f"tool{number}" for number in range(20)]
    chat = [user("go"), *(m for name in names for m in round_of(name, f"{name}_file.py said {name}\n" * 900))]
    conversation = Conversation(read_chat([*chat, user("next")]))
    limits = Limits(budget_tokens=20_000)
    asked: list[bool] = []
    plan = plan_pruning(conversation, limits, Chars3(), give_way=lambda: asked.append(True))
    assert plan.edits
    assert len(asked) > len(plan.edits)
    assert plan == plan_pruning(conversation, limits, Chars3())
