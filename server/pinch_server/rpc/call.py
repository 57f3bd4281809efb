"""What is known about the call that is being answered: filled by the servicers, read by the interceptors."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

import grpc

from pinch_server.doors.tokens import Token

REQUEST_ID_CHARS: Final = 128
"""Where a caller's own id is cut before it is told again in a line, a status or a header (characters)."""


@dataclass(slots=True)
class Call:
    """One call on its way through the server.

    Attributes:
        method: Full name of the method, `/pinch.v1.PruneService/Prune`.
        context: gRPC's own view of the call.
        started: When its handling began, on the monotonic clock (seconds).
        request_id: The caller's own id, or one that was made for the call.
        trailers: Metadata that goes out with the status, whatever the status is.
        decision_id: The decision's id, when one was taken.
        labels: The router's own words for the log line.
        route: What the router meant to do with the conversation, when it is about one.
        result: How the decision came out, as a slug.
        original_tokens: Estimate before pruning (tokens).
        final_tokens: Estimate of what ships (tokens).
        budget_tokens: What may ship (tokens).
        budget_met: Whether what ships is within it.
        format: The dialect the body was read in.
        persisted: Whether the decision or report was recorded.
        trace_id: The trace that its span belongs to, where it has one.
    """

    method: str
    context: grpc.ServicerContext
    started: float = 0.0
    request_id: str | None = None
    trailers: list[tuple[str, str | bytes]] = field(default_factory=list)
    decision_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    route: str | None = None
    result: str | None = None
    original_tokens: int | None = None
    final_tokens: int | None = None
    budget_tokens: int | None = None
    budget_met: bool | None = None
    format: str | None = None
    persisted: bool | None = None
    trace_id: str | None = None

    def add_trailer(self, name: str, value: str | bytes) -> None:
        """Sends one more pair of metadata with the status."""
        self.trailers.append((name, value))
        self.context.set_trailing_metadata(tuple(self.trailers))


_CURRENT: ContextVar[Call] = ContextVar("pinch_call")


def current_call(method: str, context: grpc.ServicerContext) -> Call:
    """The call being answered; outside of any interceptor, one that nobody reads."""
    return _CURRENT.get(None) or Call(method, context)


def begin(call: Call) -> None:
    """Makes this the current call; gRPC runs each in a context of its own, so nothing is to be undone."""
    _CURRENT.set(call)


_CALLER: ContextVar[Token | None] = ContextVar("pinch_caller", default=None)


def begin_as(token: Token) -> None:
    """Makes this the token of the current call."""
    _CALLER.set(token)


def current_token() -> Token | None:
    """The token of the current call; None where none was needed."""
    return _CALLER.get()


def current_tenant(otherwise: str) -> str:
    """Whose the current call is: its token's name.

    Args:
        otherwise: Whose it is when it needed no token.
    """
    token = _CALLER.get()
    return otherwise if token is None else token.name
