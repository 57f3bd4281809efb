"""Questions about stored decisions, asked of a running service for the command line."""

from typing import Any

import grpc

from pinch.v1 import insight_pb2 as pb
from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch_server.rpc.asking import nobody_answers, violations_of
from pinch_server.rpc.insight_convert import shown_fields


class NotAnsweredError(Exception):
    """A service refused a question, or nobody answered; the text says why."""


def ask_savings(address: str, days: int, timeout: float) -> dict[str, Any] | None:
    """The savings of the last days under the names of the API; None when pruning is switched off there.

    Args:
        address: `HOST:PORT` or `unix:PATH`.
        days: The window's length (days).
        timeout: Time the service has to answer (seconds).

    Raises:
        NotAnsweredError: It did not, or refused.
    """
    with grpc.insecure_channel(address) as channel:
        try:
            reply = InsightServiceStub(channel).GetSavings(
                pb.GetSavingsRequest(window_days=days), timeout=timeout
            )
        except grpc.RpcError as error:
            raise _not_answered(address, error) from error
    return shown_fields(reply.savings) if reply.HasField("savings") else None


def ask_decisions(address: str, last: int, timeout: float) -> list[dict[str, Any]]:
    """The newest decisions under the names of the API, the newest first.

    Args:
        address: `HOST:PORT` or `unix:PATH`.
        last: How many at most.
        timeout: Time the service has to answer (seconds).

    Raises:
        NotAnsweredError: It did not, or refused.
    """
    with grpc.insecure_channel(address) as channel:
        try:
            reply = InsightServiceStub(channel).ListDecisions(
                pb.ListDecisionsRequest(page_size=last), timeout=timeout
            )
        except grpc.RpcError as error:
            raise _not_answered(address, error) from error
    return [shown_fields(decision) for decision in reply.decisions]


def _not_answered(address: str, error: grpc.RpcError) -> NotAnsweredError:
    nobody = nobody_answers(address, error)
    if nobody is not None:
        return NotAnsweredError(nobody)
    violations = "; ".join(map(str, violations_of(error)))
    return NotAnsweredError(f"{address}: {error.code().name}: {violations or error.details()}")
