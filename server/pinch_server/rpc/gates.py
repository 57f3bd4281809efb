"""What may turn a call away before its message is read."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from pinch_server.doors.access import allowed_method
from pinch_server.doors.tokens import Problem, Refused, Tokens, admitted
from pinch_server.doors.watched import Watched
from pinch_server.rpc.call import begin_as
from pinch_server.rpc.errors import ForbiddenError, OverloadedError, UnauthenticatedError

HEALTH: Final = "/grpc.health.v1.Health/"
"""What the names of the methods for probes begin with."""
_AUTHORIZATION: Final = "authorization"

Metadata = Sequence[tuple[str, str | bytes]]


class DoorMetrics(Protocol):
    """Counts calls that were turned away."""

    def call_shed(self, reason: str) -> None:
        """Counts a call that was turned away: `too_many` were there already, or `no_time` was left for it."""
        ...

    def call_refused(self, door: str, problem: Problem) -> None:
        """Counts a call, or a request of a page, of somebody who may not make it."""
        ...


class Overload:
    """Turns calls away while there are as many as may be; health checks never.

    Args:
        calls: How many there are.
        most: How many there may be.
        metrics: Where those turned away are counted.
        apart: How many there are, and may be, of the methods that have threads of their own, by full name.
    """

    def __init__(
        self,
        calls: Callable[[], int],
        most: int,
        metrics: DoorMetrics,
        apart: Mapping[str, tuple[Callable[[], int], int]] = MappingProxyType({}),
    ) -> None:
        self._all = calls, most
        self._metrics = metrics
        self._apart = apart

    def __call__(self, method: str, _metadata: Metadata) -> Exception | None:
        """The error a call is turned away with, or None."""
        calls, most = self._apart.get(method, self._all)
        if calls() < most or method.startswith(HEALTH):
            return None
        self._metrics.call_shed("too_many")
        return OverloadedError()


class Auth:
    """Turns away who has no token, or one that is for something else.

    Args:
        tokens: The tokens that are valid.
        metrics: Where those turned away are counted.
    """

    def __init__(self, tokens: Watched[Tokens], metrics: DoorMetrics) -> None:
        self._tokens = tokens
        self._metrics = metrics

    def __call__(self, method: str, metadata: Metadata) -> Exception | None:
        """The error a call is turned away with, or None."""
        allowed = allowed_method(method)
        if allowed is None:
            return None
        header = next((str(value) for name, value in metadata if name == _AUTHORIZATION), None)
        try:
            token = admitted(self._tokens.current(), header, allowed, method.removeprefix("/"))
        except Refused as refused:
            self._metrics.call_refused("grpc", refused.problem)
            kind = ForbiddenError if refused.problem == "wrong_role" else UnauthenticatedError
            return kind(str(refused))
        begin_as(token)
        return None
