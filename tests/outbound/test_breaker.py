"""When an endpoint is left alone."""

import threading

import pytest

from pinch_server.outbound.breaker import Breaker


class FakeClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def breaker(clock: FakeClock) -> Breaker:
    return Breaker(clock, failures=3, pause_seconds=10)


def fail(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        assert breaker.allows()
        breaker.failed()


def test_it_opens_after_failures_in_a_row(breaker: Breaker) -> None:
    """So many failures without a success between them, and calls stop."""
    fail(breaker, 2)
    breaker.allows()
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.allows()
    breaker.failed()
    assert not breaker.allows()
    assert breaker.is_open


def test_one_probe_at_a_time(breaker: Breaker, clock: FakeClock) -> None:
    """After the pause exactly one of many callers at once may try."""
    fail(breaker, 3)
    clock.seconds = 10.0
    allowed: list[bool] = []
    threads = [threading.Thread(target=lambda: allowed.append(breaker.allows())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(allowed) == [False] * 19 + [True]


def test_a_probe_that_succeeds_closes_it(breaker: Breaker, clock: FakeClock) -> None:
    """Once a probe was answered, every caller may ask, and old failures are forgotten."""
    fail(breaker, 3)
    clock.seconds = 10.0
    assert breaker.allows()
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.allows()


def test_a_probe_that_fails_starts_the_pause_anew(breaker: Breaker, clock: FakeClock) -> None:
    """A failed probe costs another pause, from now."""
    fail(breaker, 3)
    clock.seconds = 15.0
    fail(breaker, 1)
    clock.seconds = 24.0
    assert not breaker.allows()
    clock.seconds = 25.0
    assert breaker.allows()


def test_a_probe_that_was_abandoned_leaves_room_for_the_next(breaker: Breaker, clock: FakeClock) -> None:
    """A cancelled probe says nothing: the next caller may try at once."""
    fail(breaker, 3)
    clock.seconds = 10.0
    assert breaker.allows()
    breaker.abandoned()
    assert breaker.allows()


def test_cancellations_never_open_it(breaker: Breaker) -> None:
    """Callers that go away are no failures of the endpoint, however many."""
    for _ in range(100):
        assert breaker.allows()
        breaker.abandoned()
    assert not breaker.is_open


def test_late_failures_do_not_lengthen_the_pause(breaker: Breaker, clock: FakeClock) -> None:
    """Calls that were under way when it opened do not start the pause anew."""
    for _ in range(5):
        breaker.allows()
    for _ in range(3):
        breaker.failed()
    clock.seconds = 9.0
    breaker.failed()
    clock.seconds = 10.0
    assert breaker.allows()
