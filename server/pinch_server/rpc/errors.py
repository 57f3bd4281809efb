"""How errors are answered, and how answers are read: the one place that knows status codes.

Every status carries `google.rpc.ErrorInfo` with a reason for machines; a caller's fault carries all its field
violations as well. No status and no log line quotes a conversation.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from pinch_server.core.limits import Violation
from pinch_server.decide import InvalidCallError, NobodyWaitsError, NoTimeError
from pinch_server.faults import told
from pinch_server.ports import InsightUnavailableError, NotTurnedError
from pinch_server.rpc.call import Call

_LOG: Final = logging.getLogger(__name__)
_DOMAIN: Final = "pinch.v1"

# gRPC peers take 8 KiB of metadata; a status has to fit in twice, the second time in base64 with its details.
_MESSAGE_CHARS: Final = 1_500
_PROBLEM_CHARS: Final = 200
_VIOLATIONS_BYTES: Final = 2_700
_TOO_LONG: Final = re.compile(r"larger than max \(\d+ vs\. (\d+)\)")
_NOT_REACHED: Final = re.compile(r"failed to connect|DNS resolution failed|errors resolving", re.IGNORECASE)
_WHY_NOT: Final = re.compile(
    r"Connection refused|No such file or directory|No route to host|name not found", re.IGNORECASE
)


class NoOriginalError(Exception):
    """Asked for the original of a result of which none is kept."""

    def __init__(self) -> None:
        super().__init__("no original is kept under this reference; do not ask again, run the tool again")


class NoDecisionError(Exception):
    """Asked for a decision that is not stored."""

    def __init__(self) -> None:
        super().__init__("no decision of that id is stored; one just made may still be on its way")


class NotServedError(Exception):
    """Asked for a method that this version does not serve."""

    def __init__(self, method: str) -> None:
        super().__init__(f"{method} is not served by this version")


class TooLateError(Exception):
    """The message of a call did not come in time."""

    def __init__(self) -> None:
        super().__init__("the message did not come in time; send it with the call")


class NoMessageError(Exception):
    """A call without the message it is about."""

    def __init__(self) -> None:
        super().__init__("the call ended without a message")


class OverloadedError(Exception):
    """One call too many."""

    def __init__(self) -> None:
        super().__init__("more calls are in flight than this server takes at once; try again in a moment")


class UnauthenticatedError(Exception):
    """A caller without a token that is known here."""


class ForbiddenError(Exception):
    """A caller whose token is for something else."""


@dataclass(frozen=True, slots=True)
class _Answer:
    code: grpc.StatusCode
    reason: str
    message: str | None = None
    """What the caller reads; None: the error's own words."""
    retry_seconds: int | None = None
    """When the same call may be made again; None where that is not known."""


_TABLE: Final[Mapping[type[Exception], _Answer]] = {
    InvalidCallError: _Answer(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_CALL"),
    DecodeError: _Answer(
        grpc.StatusCode.INVALID_ARGUMENT, "UNREADABLE_MESSAGE", "the message is not what the method takes"
    ),
    NoOriginalError: _Answer(grpc.StatusCode.NOT_FOUND, "NO_ORIGINAL"),
    NoDecisionError: _Answer(grpc.StatusCode.NOT_FOUND, "NO_DECISION"),
    InsightUnavailableError: _Answer(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"),
    NotTurnedError: _Answer(grpc.StatusCode.UNAVAILABLE, "NOT_TURNED"),
    NobodyWaitsError: _Answer(grpc.StatusCode.DEADLINE_EXCEEDED, "NOBODY_WAITS"),
    TooLateError: _Answer(grpc.StatusCode.DEADLINE_EXCEEDED, "MESSAGE_TOO_LATE"),
    NoMessageError: _Answer(grpc.StatusCode.INVALID_ARGUMENT, "NO_MESSAGE"),
    OverloadedError: _Answer(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", retry_seconds=1),
    NoTimeError: _Answer(grpc.StatusCode.RESOURCE_EXHAUSTED, "NO_TIME", retry_seconds=1),
    UnauthenticatedError: _Answer(grpc.StatusCode.UNAUTHENTICATED, "NO_VALID_TOKEN"),
    ForbiddenError: _Answer(grpc.StatusCode.PERMISSION_DENIED, "NO_SUCH_ROLE"),
    NotServedError: _Answer(grpc.StatusCode.UNIMPLEMENTED, "NOT_SERVED"),
}
_UNEXPECTED: Final = _Answer(
    grpc.StatusCode.INTERNAL, "INTERNAL", "internal error; the server's log has it under this request id"
)


def abort(call: Call, error: Exception) -> None:
    """Ends a call with the status that stands for an error.

    Raises:
        Exception: Always: so gRPC leaves the handler.
    """
    answer = _TABLE.get(type(error), _UNEXPECTED)
    if answer is _UNEXPECTED:
        _LOG.error("%s failed for request %s: %s", call.method, call.request_id, told(error))
    violations = _bounded(error.violations) if isinstance(error, InvalidCallError) else ()
    message = answer.message or str(error)
    if violations:
        message = "; ".join(f"{violation.field}: {violation.description}" for violation in violations)
    # Anything else than ASCII would be sent as three bytes each.
    message = message.encode("ascii", "backslashreplace").decode("ascii")
    if len(message) > _MESSAGE_CHARS:
        message = f"{message[: _MESSAGE_CHARS - 4]} ..."
    status = rpc_status.to_status(_status(call, answer, message, violations))
    for name, value in status.trailing_metadata:
        call.add_trailer(name, value)
    call.context.abort(answer.code, message)


def _status(
    call: Call,
    answer: _Answer,
    message: str,
    violations: Iterable[error_details_pb2.BadRequest.FieldViolation],
) -> status_pb2.Status:
    status = status_pb2.Status(code=code_pb2.Code.Value(answer.code.name), message=message)
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=answer.reason, domain=_DOMAIN))
    bad_request = error_details_pb2.BadRequest(field_violations=violations)
    if bad_request.field_violations:
        status.details.add().Pack(bad_request)
    if answer.retry_seconds is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.seconds = answer.retry_seconds
        status.details.add().Pack(retry)
    if call.request_id:
        status.details.add().Pack(error_details_pb2.RequestInfo(request_id=call.request_id))
    return status


def _bounded(violations: Iterable[Violation]) -> tuple[error_details_pb2.BadRequest.FieldViolation, ...]:
    """The violations, each once; the last ones are only counted where they would burst the status."""
    distinct = list(dict.fromkeys(violations))
    told_ones: list[error_details_pb2.BadRequest.FieldViolation] = []
    size = 0
    for violation in distinct:
        problem = violation.problem
        if len(problem) > _PROBLEM_CHARS:
            problem = f"{problem[: _PROBLEM_CHARS // 2]} ... {problem[-_PROBLEM_CHARS // 2 :]}"
        entry = error_details_pb2.BadRequest.FieldViolation(field=violation.field, description=problem)
        size += entry.ByteSize() + 3
        if size > _VIOLATIONS_BYTES:
            rest = f"{len(distinct) - len(told_ones)} more violations"
            told_ones.append(error_details_pb2.BadRequest.FieldViolation(field="", description=rest))
            break
        told_ones.append(entry)
    return tuple(told_ones)


def code_of(call: Call) -> str:
    """The name of the status a call has ended with, as far as the server knows it."""
    context, codes = call.context, grpc.StatusCode
    code: grpc.StatusCode | None = context.code()  # type: ignore[attr-defined] # not in the stubs
    if code is None:
        gone = codes.CANCELLED if context.time_remaining() else codes.DEADLINE_EXCEEDED
        code = codes.OK if context.is_active() else gone
    return code.name


def is_callers_fault(code: grpc.StatusCode) -> bool:
    """Whether a call that was refused like this would be refused again."""
    return code is grpc.StatusCode.INVALID_ARGUMENT


def message_limit(code: grpc.StatusCode, details: str) -> int | None:
    """The most bytes a message may have, as gRPC says it about one that was longer; None for all else.

    A service that sheds load has the same status code, and that call may be made again; only the words tell
    the two apart.
    """
    found = _TOO_LONG.search(details) if code is grpc.StatusCode.RESOURCE_EXHAUSTED else None
    return int(found[1]) if found else None


def speaks_otherwise(code: grpc.StatusCode, details: str) -> str | None:
    """What to change about TLS, when caller and server do not agree on it; None otherwise.

    Args:
        code: The status of the call.
        details: What gRPC says about it.
    """
    if code is not grpc.StatusCode.UNAVAILABLE:
        return None
    if "WRONG_VERSION_NUMBER" in details:
        return "does not speak TLS; leave out --tls and what belongs to it"
    # What a port with TLS makes of plain text; also what a server does that ends at this very moment.
    if "backends failing" in details and details.endswith("Socket closed"):
        return "closed the connection at once; if it speaks TLS, give --tls-ca FILE or --tls"
    return None


def unreached(code: grpc.StatusCode, details: str) -> str | None:
    """Why nobody answered, when nobody did; None when a server gave this status.

    Args:
        code: The status of the call.
        details: What gRPC says about it.
    """
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return "no answer in time"
    if code is not grpc.StatusCode.UNAVAILABLE or not _NOT_REACHED.search(details):
        return None
    why = _WHY_NOT.search(details)
    return why[0].lower() if why else "no connection"
