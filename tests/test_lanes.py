"""Large conversations one after the other, and only those that can be answered in time."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from pinch_server.decide import Lanes, NobodyWaitsError, NoTimeError, Patience
from tests.gateways.test_in_time import Hand

MB = 1_000_000
HUGE = 8 * MB


@dataclass
class Caller:
    """A caller that can leave, and that tells when its call waits."""

    waits: threading.Event = field(default_factory=threading.Event)
    leave: Callable[[], None] = lambda: None

    def patience(self, seconds: float | None = None) -> Patience:
        return Patience(seconds, self._when_gone)

    def _when_gone(self, gone: Callable[[], None]) -> bool:
        self.leave = gone
        self.waits.set()
        return True


@dataclass
class Queue:
    """Lanes, and calls that wait in them on threads of their own."""

    clock: Hand = field(default_factory=Hand)
    shed: list[bool] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8))
    threads: int = 16

    def __post_init__(self) -> None:
        self.lanes = Lanes(self.clock, lambda: self.shed.append(True), self.threads)

    def waiting(self, name: str, caller: Caller, seconds: float | None = None) -> "Future[None]":
        """Has one of a megabyte wait, and returns when it does."""
        future = self.submitted(name, caller, seconds)
        assert caller.waits.wait(30)
        return future

    def submitted(self, name: str, caller: Caller, seconds: float | None = None) -> "Future[None]":
        """Has one of a megabyte come."""

        def work() -> None:
            with self.lanes.place(MB, caller.patience(seconds)):
                self.done.append(name)

        return self.pool.submit(work)

    def learn(self, seconds: float) -> None:
        """Lets a megabyte take so long."""
        with self.lanes.place(MB, Patience()):
            self.clock.at += seconds


def test_large_ones_are_worked_on_one_after_the_other() -> None:
    """Those of one lane have their turns in the order they came."""
    queue = Queue()
    with queue.lanes.place(MB, Patience()):
        waiting = [queue.waiting(name, Caller()) for name in "abc"]
        assert queue.done == []
    for one in waiting:
        one.result(30)
    assert queue.done == ["a", "b", "c"]


@pytest.mark.parametrize(("holds", "comes"), [(MB, 1_000), (HUGE, MB), (MB, HUGE), (HUGE, 0)])
def test_other_sizes_pass_by(holds: int, comes: int) -> None:
    """A small one waits for nobody, and a large one for no huge one."""
    queue = Queue()
    with queue.lanes.place(holds, Patience()), queue.lanes.place(comes, Patience(0.001)) as patience:
        assert patience.seconds == 0.001


def test_what_would_be_late_is_turned_away_when_it_comes() -> None:
    """Behind one of ten seconds, one that has twelve is refused and counted; one that has an hour waits."""
    queue = Queue()
    queue.learn(10)
    with queue.lanes.place(MB, Patience()):
        with pytest.raises(NoTimeError), queue.lanes.place(MB, Patience(12)):
            pytest.fail("it was worked on")
        patient = queue.waiting("patient", Caller(), 3600)
    patient.result(30)
    assert (queue.done, queue.shed) == (["patient"], [True])


def test_what_the_one_before_has_done_already_counts() -> None:
    """As work goes on, less time is needed to come after it."""
    queue = Queue()
    queue.learn(10)
    with queue.lanes.place(MB, Patience()):
        queue.clock.at += 9
        patient = queue.waiting("late comer", Caller(), 18)
    patient.result(30)
    assert queue.shed == []


def test_one_that_nobody_is_ahead_of_is_always_tried() -> None:
    """No estimate can keep calls away for ever: with an empty lane it is not asked."""
    queue = Queue()
    queue.learn(1_000)
    with queue.lanes.place(MB, Patience(0.001)):
        pass
    assert queue.shed == []


def test_what_is_expected_follows_what_is_seen() -> None:
    """After some that take less, one is let in that would have been turned away before."""
    queue = Queue()
    queue.learn(10)
    for _ in range(20):
        queue.learn(0.1)
    with queue.lanes.place(MB, Patience()):
        waiting = queue.waiting("in time", Caller(), 12)
    waiting.result(30)
    assert queue.shed == []


def test_one_whose_caller_leaves_is_not_worked_on() -> None:
    """A caller that gives up takes its call out of the queue, and the next one has its turn."""
    queue, gone = Queue(), Caller()
    with queue.lanes.place(MB, Patience()):
        left = queue.waiting("left", gone)
        stays = queue.waiting("stays", Caller())
        gone.leave()
        with pytest.raises(NobodyWaitsError):
            left.result(30)
    stays.result(30)
    assert (queue.done, queue.shed) == (["stays"], [])


def test_one_whose_caller_had_left_before_is_not_worked_on() -> None:
    """A call that ended before it began to wait does not wait."""
    queue = Queue()
    with (
        queue.lanes.place(MB, Patience()),
        pytest.raises(NobodyWaitsError),
        queue.lanes.place(MB, Patience(3600, lambda _gone: False)),
    ):
        pytest.fail("it was worked on")
    with queue.lanes.place(MB, Patience()):
        pass


def test_one_waits_no_longer_than_its_time() -> None:
    """When nothing is known about the one before, one that comes after it is refused once its time is up."""
    queue = Queue()
    with (
        queue.lanes.place(MB, Patience()),
        pytest.raises(NoTimeError),
        queue.lanes.place(MB, Patience(0.001)),
    ):
        pytest.fail("it was worked on")
    assert queue.shed == [True]


def test_the_time_that_is_left_is_told() -> None:
    """What a call waited is taken from the time it has."""
    queue, caller, left = Queue(), Caller(), []

    def work() -> None:
        with queue.lanes.place(MB, caller.patience(100)) as patience:
            left.append(patience.seconds)

    with queue.lanes.place(MB, Patience()):
        waiting = queue.pool.submit(work)
        assert caller.waits.wait(30)
        queue.clock.at += 30
    waiting.result(30)
    assert left == [70]


def test_one_that_waits_for_something_else_steps_aside() -> None:
    """Meanwhile the next one is worked on, and then it goes on before those that came later."""
    queue, next_one, later = Queue(), threading.Event(), []
    let_go = threading.Event()

    def holds() -> None:
        with queue.lanes.place(MB, Caller().patience()):
            next_one.set()
            assert let_go.wait(30)
            queue.done.append("next")

    with queue.lanes.place(MB, Patience()) as patience:
        second = queue.pool.submit(holds)
        with patience.place.aside():
            assert next_one.wait(30)
            later.append(queue.waiting("later", Caller()))
            let_go.set()
        queue.done.append("first again")
    for one in (second, *later):
        one.result(30)
    assert queue.done == ["next", "first again", "later"]


def test_time_aside_is_not_what_a_conversation_takes() -> None:
    """An embedder that is slow does not make conversations look slow."""
    queue = Queue()
    with queue.lanes.place(MB, Patience()) as patience:
        queue.clock.at += 1
        with patience.place.aside():
            queue.clock.at += 1_000
    with queue.lanes.place(MB, Patience()):
        waiting = queue.waiting("in time", Caller(), 30)
    waiting.result(30)
    assert queue.shed == []


def test_a_place_is_left_once_and_also_by_a_failure() -> None:
    """What leaves early, or fails, makes room for one other and no more."""
    queue = Queue()
    with queue.lanes.place(MB, Patience()) as patience:
        patience.place.leave()
        with queue.lanes.place(MB, Patience()):
            patience.place.leave()
            waiting = queue.waiting("third", Caller())
            assert queue.done == []
        with patience.place.aside():
            waiting.result(30)
    with pytest.raises(ZeroDivisionError), queue.lanes.place(MB, Patience()):
        raise ZeroDivisionError
    with queue.lanes.place(MB, Patience(0.001)):
        pass


@pytest.mark.parametrize("knows", [True, False])
def test_those_that_wait_for_long_leave_threads_to_small_ones(knows: bool) -> None:
    """With three of four threads held, one more is refused, however patient, that would wait for long."""
    queue = Queue(threads=4)
    if knows:
        queue.learn(10)
    with queue.lanes.place(MB, Patience()):
        waiting = [queue.waiting(name, Caller()) for name in "ab"]
        assert isinstance(queue.submitted("one more", Caller()).exception(30), NoTimeError)
        with queue.lanes.place(HUGE, Patience()):
            pass
    for one in waiting:
        one.result(30)
    assert (queue.done, queue.shed) == (["a", "b"], [True])
    with queue.lanes.place(MB, Patience()):
        queue.waiting("c", Caller())
    queue.pool.shutdown()
    assert queue.done == ["a", "b", "c"]


def test_those_that_wait_briefly_may_be_many() -> None:
    """Where each takes a few milliseconds nobody is refused for the number of those that wait."""
    queue = Queue(threads=4)
    queue.learn(0.01)
    with queue.lanes.place(MB, Patience()):
        waiting = [queue.waiting(name, Caller()) for name in "abcdefg"]
    for one in waiting:
        one.result(30)
    assert (queue.done, queue.shed) == (list("abcdefg"), [])


def test_a_caller_without_a_deadline_waits() -> None:
    """Gateways and clients may say for ever by None or by a time beyond any life."""
    queue = Queue()
    queue.learn(1_000)
    with queue.lanes.place(MB, Patience()):
        waiting = [queue.waiting("a", Caller()), queue.waiting("b", Caller(), float("inf"))]
    for one in waiting:
        one.result(30)
    assert queue.done == ["a", "b"]


def test_one_that_stepped_aside_does_not_wait_when_its_caller_left() -> None:
    """A call whose caller is gone goes on to its end without holding up the others."""
    queue, caller = Queue(), Caller()
    first, aside = threading.Event(), threading.Event()

    def work() -> None:
        with queue.lanes.place(MB, caller.patience()) as patience:
            with patience.place.aside():
                first.set()
                assert aside.wait(30)
            queue.done.append("gone")

    with queue.lanes.place(MB, Patience()):
        waiting = queue.pool.submit(work)
        assert caller.waits.wait(30)
    assert first.wait(30)
    with queue.lanes.place(MB, Patience()):
        caller.leave()
        aside.set()
        waiting.result(30)
    assert queue.done == ["gone"]
