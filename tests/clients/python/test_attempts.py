"""One deadline and one retry, held against a clock that the test turns."""

from __future__ import annotations

import grpc
import pytest

from pinch import CallError
from pinch.attempts import Attempts

UNAVAILABLE = CallError(grpc.StatusCode.UNAVAILABLE, "")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_left_shrinks_to_the_deadline() -> None:
    """Every attempt gets what is left of the whole call's time."""
    clock = Clock()
    attempts = Attempts(2.0, clock)
    assert attempts.time_left() == 2.0
    clock.now += 1.5
    assert attempts.time_left() == 0.5


def test_no_time_left_is_a_deadline_exceeded() -> None:
    """An attempt that would start at or after the deadline is not made."""
    clock = Clock()
    attempts = Attempts(2.0, clock)
    clock.now += 2.0
    with pytest.raises(CallError) as caught:
        attempts.time_left()
    assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED


def test_the_second_unavailable_is_raised() -> None:
    """UNAVAILABLE may be tried again once."""
    attempts = Attempts(2.0, Clock())
    attempts.retry_or_raise(UNAVAILABLE)
    with pytest.raises(CallError) as caught:
        attempts.retry_or_raise(UNAVAILABLE)
    assert caught.value is UNAVAILABLE


def test_a_failure_is_one_short_line() -> None:
    """A reason fits a log line, whatever the server wrote."""
    failure = CallError(grpc.StatusCode.INTERNAL, "first\nsecond " + "x" * 10_000)
    assert str(failure).startswith("INTERNAL: first second x")
    assert len(str(failure)) < 400
    assert str(CallError(grpc.StatusCode.INTERNAL, "")) == "INTERNAL"
