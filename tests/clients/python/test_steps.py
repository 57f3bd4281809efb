"""C2, C3: one deadline and one retry, held against a clock that the test turns and a wire that it plays."""

from __future__ import annotations

import grpc
import pytest

from pinch import CallError, Format, Pruned, ReplyError
from pinch.conversations import prepare_body
from pinch.steps import PRUNE, Attempt, Manner, Steps, prune_steps
from pinch.v1.prune_pb2 import PruneResponse

BODY = b"{}"
REPLY = PruneResponse(unchanged_reason="within_budget").SerializeToString()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pruning(clock: Clock, *, timeout: float | None = None, strict: bool = True) -> Steps[Pruned[bytes]]:
    """A call of a client with a timeout of 2 seconds."""
    return prune_steps(
        BODY,
        lambda: prepare_body(BODY, Format.FORMAT_UNSPECIFIED, timeout=timeout),
        Manner(2.0, strict, clock),
    )


def failure(code: grpc.StatusCode) -> CallError:
    return CallError(code, "")


def result_of(steps: Steps[Pruned[bytes]], reply: bytes) -> Pruned[bytes]:
    with pytest.raises(StopIteration) as end:
        steps.send(reply)
    result: Pruned[bytes] = end.value.value
    return result


def test_the_retry_has_what_is_left_of_the_time() -> None:
    """Both attempts send the same bytes, and the second has the rest of the whole call's time."""
    clock = Clock()
    steps = pruning(clock)
    first = next(steps)
    assert (first.method, first.timeout) == (PRUNE, 2.0)
    clock.now += 1.5
    second = steps.throw(failure(grpc.StatusCode.UNAVAILABLE))
    assert second == Attempt(PRUNE, first.request, 0.5)
    assert result_of(steps, REPLY).reason == "within_budget"


def test_the_time_begins_when_the_method_is_entered() -> None:
    """Writing the conversation down counts too: a deadline is what the caller waits at most."""
    clock = Clock()

    def slowly() -> object:
        clock.now += 0.5
        return prepare_body(BODY, Format.FORMAT_UNSPECIFIED)

    steps = prune_steps(BODY, slowly, Manner(2.0, strict=True, clock=clock))  # type: ignore[arg-type]
    assert next(steps).timeout == 1.5


def test_no_retry_when_no_time_is_left() -> None:
    """An attempt that would start at or after the deadline is not made."""
    clock = Clock()
    steps = pruning(clock)
    next(steps)
    clock.now += 2.0
    with pytest.raises(CallError) as caught:
        steps.throw(failure(grpc.StatusCode.UNAVAILABLE))
    assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED


def test_the_second_unavailable_is_the_result() -> None:
    """UNAVAILABLE may be tried again once."""
    steps = pruning(Clock(), strict=False)
    next(steps)
    steps.throw(failure(grpc.StatusCode.UNAVAILABLE))
    with pytest.raises(StopIteration) as end:
        steps.throw(failure(grpc.StatusCode.UNAVAILABLE))
    assert end.value.value.body is BODY
    assert end.value.value.reason == "unavailable"


@pytest.mark.parametrize("timeout", [0.0, -1.0])
def test_without_time_nothing_is_sent(timeout: float) -> None:
    """A call whose time is over makes no attempt."""
    with pytest.raises(CallError, match="no time left"):
        next(pruning(Clock(), timeout=timeout))


def test_a_reply_that_is_cut_off_is_refused() -> None:
    """C1: whatever gRPC would make of it, a reply that cannot be decoded is a ReplyError."""
    steps = pruning(Clock())
    next(steps)
    with pytest.raises(ReplyError):
        steps.send(REPLY[:-1])


def test_a_failure_is_one_short_line() -> None:
    """The words of a failure fit a log line, whatever the server wrote; its reason is a slug."""
    error = CallError(grpc.StatusCode.INTERNAL, "first\nsecond " + "x" * 10_000)
    assert str(error).startswith("INTERNAL: first second x")
    assert len(str(error)) < 400
    assert str(CallError(grpc.StatusCode.INTERNAL, "")) == "INTERNAL"
    assert error.reason == "internal"
