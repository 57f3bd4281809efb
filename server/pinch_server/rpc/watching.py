"""A running service as it is seen over gRPC, through a connection that stays open."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pinch import Tls
from pinch.connection import connection
from pinch.v1 import insight_pb2 as pb
from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch_server.rpc.asking import nobody_answers, violations_of
from pinch_server.rpc.insight_convert import shown_fields

_Metadata = tuple[tuple[str, str], ...]


class NotAnsweredError(Exception):
    """A service refused a question, or nobody answered; the text says why."""


class Watched:
    """Asks one service, as often as need be."""

    def __init__(self, channel: grpc.Channel, address: str, metadata: _Metadata, timeout: float) -> None:
        self._insight = InsightServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)
        self._address = address
        self._metadata = metadata
        self._timeout = timeout

    def is_ready(self) -> bool:
        """Whether it takes calls.

        Raises:
            NotAnsweredError: It did not say.
        """
        with self._told():
            request = health_pb2.HealthCheckRequest()
            reply = self._health.Check(request, timeout=self._timeout, metadata=self._metadata)
        return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)

    def savings(self, days: int) -> dict[str, Any] | None:
        """The savings of the last days under the names of the API; None while pruning is off there.

        Raises:
            NotAnsweredError: It did not answer, or refused.
        """
        with self._told():
            request = pb.GetSavingsRequest(window_days=days)
            reply = self._insight.GetSavings(request, timeout=self._timeout, metadata=self._metadata)
        return shown_fields(reply.savings) if reply.HasField("savings") else None

    def decisions(self, last: int) -> list[dict[str, Any]]:
        """The newest decisions under the names of the API, the newest first.

        Raises:
            NotAnsweredError: It did not answer, or refused.
        """
        with self._told():
            request = pb.ListDecisionsRequest(page_size=last)
            reply = self._insight.ListDecisions(request, timeout=self._timeout, metadata=self._metadata)
        return [shown_fields(one) for one in reply.decisions]

    def decision(self, decision_id: str) -> dict[str, Any]:
        """One decision and its receipt, `decision` and `trims`, under the names of the API.

        Raises:
            NotAnsweredError: It did not answer, refused, or has none of that id.
        """
        with self._told():
            request = pb.GetDecisionRequest(decision_id=decision_id)
            reply = self._insight.GetDecision(request, timeout=self._timeout, metadata=self._metadata)
        return shown_fields(reply)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            nobody = nobody_answers(self._address, error)
            violations = "; ".join(map(str, violations_of(error)))
            words = nobody or f"{self._address}: {error.code().name}: {violations or error.details()}"
            raise NotAnsweredError(words) from error


@contextmanager
def watched(address: str, timeout: float, tls: Tls | None, token: str | None) -> Iterator[Watched]:
    """Opens a connection to a service; nothing is sent before the first question.

    Args:
        address: `HOST:PORT` or `unix:PATH`.
        timeout: Time the service has for each answer (seconds).
        tls: How the connection is encrypted; None: not at all.
        token: The token to send; None: none.

    Raises:
        ValueError: The address or the token cannot be used.
    """
    to = connection(address, timeout=timeout, token=token, tls=tls)
    credentials = to.credentials()
    channel = (
        grpc.insecure_channel(to.target, to.options())
        if credentials is None
        else grpc.secure_channel(to.target, credentials, to.options())
    )
    with channel:
        yield Watched(channel, address, to.metadata, timeout)
