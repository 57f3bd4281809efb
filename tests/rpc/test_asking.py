"""How the command line reads a service's refusals."""

import grpc
import pytest

from pinch_server.core.limits import Violation
from pinch_server.rpc.asking import is_callers_fault, oversize, violations_of


class Refused(grpc.RpcError, grpc.Call):  # type: ignore[misc] # gRPC's own errors are both
    """A refused call as gRPC raises it."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> tuple[()]:
        return ()

    def _unused(self, *_arguments: object) -> None:
        return

    initial_metadata = is_active = time_remaining = cancel = add_callback = _unused


@pytest.mark.parametrize("end", ["SERVER: Received", "CLIENT: Sent"])
def test_a_message_that_was_too_long_is_a_violation(end: str) -> None:
    """What gRPC says about a long message becomes a violation of the body with the limit."""
    refused = Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{end} message larger than max (5000 vs. 4096)")
    assert violations_of(refused) == (oversize(4096),)
    assert oversize(4096) == Violation("body.json", "is longer than 4096 bytes, the most a message may have")


@pytest.mark.parametrize(
    ("code", "is_fault"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, True),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, False),
        (grpc.StatusCode.UNAVAILABLE, False),
    ],
)
def test_only_what_would_be_refused_again_is_the_callers_fault(code: grpc.StatusCode, is_fault: bool) -> None:
    """A refused argument stays refused; a service that sheds load or is away may take the call later."""
    refused = Refused(code, "too many calls")
    assert violations_of(refused) == ()
    assert is_callers_fault(refused) is is_fault


def test_an_error_that_was_raised_from_a_call_is_read_too() -> None:
    """A client's own error has the call behind it; one without a call says nothing."""
    with pytest.raises(ValueError, match="own") as caught:
        fail_like_a_client()
    assert is_callers_fault(caught.value)
    assert not is_callers_fault(ValueError())
    assert violations_of(ValueError()) == ()


def fail_like_a_client() -> None:
    """Raises an error of its own about a call that was refused."""
    try:
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "no")
    except grpc.RpcError:
        raise ValueError("the client's own") from None
