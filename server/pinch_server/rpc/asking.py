"""The other end of the wire, for the command line: a service's health, and its reasons for a refusal."""

from typing import Final

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from pinch import Tls
from pinch.connection import connection
from pinch_server.core.limits import Violation
from pinch_server.rpc import errors

_SERVING: Final = health_pb2.HealthCheckResponse.SERVING


class NotServingError(Exception):
    """A service does not take calls; the text says what it answered."""


def ask_health(address: str, timeout: float, tls: Tls | None = None) -> None:
    """Returns when the service at an address takes calls.

    Args:
        address: `HOST:PORT` or `unix:PATH`.
        timeout: Time it has to answer (seconds).
        tls: How to speak TLS; None: plain text.

    Raises:
        NotServingError: It does not, or nobody answers.
        ValueError: The address or the timeout cannot be used.
    """
    with _channel(address, timeout, tls) as channel:
        try:
            reply = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=timeout, wait_for_ready=False
            )
        except grpc.RpcError as error:
            told = nobody_answers(address, error) or f"{address}: {error.code().name}: {error.details()}"
            raise NotServingError(told) from error
    if reply.status != _SERVING:
        name = health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
        raise NotServingError(f"{address}: {name}")


def _channel(address: str, timeout: float, tls: Tls | None) -> grpc.Channel:
    to = connection(address, timeout=timeout, token=None, tls=tls)
    credentials = to.credentials()
    if credentials is None:
        return grpc.insecure_channel(to.target)
    return grpc.secure_channel(to.target, credentials, to.options())


def oversize(most_bytes: int) -> Violation:
    """What is wrong with a body that does not fit into the longest message (bytes)."""
    return Violation("body.json", f"is longer than {most_bytes} bytes, the most a message may have")


def violations_of(error: BaseException) -> tuple[Violation, ...]:
    """The field violations that a refused call carries; none when it carries no such details.

    A message that was too long is refused before anyone reads it, and so without details: its violation is
    made of what gRPC says.

    Args:
        error: What a call raised, or an error that was raised while that was handled.
    """
    call = _call_behind(error)
    if call is None:
        return ()
    most_bytes = errors.message_limit(call.code(), call.details() or "")
    if most_bytes is not None:
        return (oversize(most_bytes),)
    status = rpc_status.from_call(call)
    bad_request = error_details_pb2.BadRequest()
    details = () if status is None else status.details
    if not any(detail.Unpack(bad_request) for detail in details):
        return ()
    return tuple(Violation(one.field, one.description) for one in bad_request.field_violations)


def nobody_answers(address: str, error: BaseException) -> str | None:
    """What to tell a person when no service of ours answered at an address; None when one did.

    Args:
        address: `HOST:PORT` or `unix:PATH`.
        error: What a call raised, or an error that was raised while that was handled.
    """
    call = _call_behind(error)
    if call is None:
        return None
    code, details = call.code(), call.details() or ""
    otherwise = errors.speaks_otherwise(code, details)
    if otherwise is not None:
        return f"{address} {otherwise}"
    why = errors.unreached(code, details)
    return None if why is None else f"nobody answers at {address}: {why}; is pinch serve running?"


def is_callers_fault(error: BaseException) -> bool:
    """Whether a call that was refused would be refused again.

    Args:
        error: What a call raised, or an error that was raised while that was handled.
    """
    call = _call_behind(error)
    return call is not None and errors.is_callers_fault(call.code())


def _call_behind(error: BaseException) -> grpc.Call | None:
    call: object = error if isinstance(error, grpc.RpcError) else error.__context__
    return call if isinstance(call, grpc.Call) else None
