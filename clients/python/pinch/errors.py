"""What can go wrong with a call, drawn as one small tree."""

from __future__ import annotations

import grpc

# Details come from the network; a reason is meant for one log line.
_LONGEST_DETAILS = 300


def one_line(words: str) -> str:
    """Words of the server as one line of at most 300 characters."""
    return " ".join(words[: 10 * _LONGEST_DETAILS].split())[:_LONGEST_DETAILS]


class PinchError(Exception):
    """Any failure of a call. A client raises it only when it is strict, and else puts it into its result.

    The text is one line. It never quotes the conversation.

    Attributes:
        reason: The failure as a slug, for a metric's label.
    """

    reason: str


class RequestError(PinchError):
    """The conversation could not be put into a request, so nothing was sent."""

    reason = "invalid_request"


class CallError(PinchError):
    """The server answered with another status than OK, or not at all, or not in time.

    Attributes:
        code: The gRPC status; DEADLINE_EXCEEDED when time ran out, UNAVAILABLE when nobody answered.
        details: The server's own words, shortened to one line.
        reason: The name of the status in lower case.
    """

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        line = one_line(details)
        super().__init__(f"{code.name}: {line}" if line else code.name)
        self.code = code
        self.details = line
        self.reason = code.name.lower()


class ReplyError(PinchError):
    """The server's reply does not fit the conversation that was sent, so none of it was used."""

    reason = "invalid_reply"


def call_error(error: grpc.RpcError) -> CallError:
    """The failure that a gRPC error stands for."""
    return CallError(error.code(), error.details() or "")


def closed_error() -> CallError:
    """The failure of a call through a client that was closed."""
    return CallError(grpc.StatusCode.CANCELLED, "the client is closed")
