"""The interceptors every call goes through."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol

from pinch_server.faults import told
from pinch_server.ports import Clock
from pinch_server.rpc.call import REQUEST_ID_CHARS, Call
from pinch_server.rpc.chain import Interceptor
from pinch_server.rpc.errors import NobodyWaitsError, abort, code_of

REQUEST_ID_HEADER: Final = "x-request-id"
"""Metadata that names a call: taken from the request where it is there, sent back with every status."""

_LOG: Final = logging.getLogger(__name__)
_HEALTH: Final = "/grpc.health.v1.Health/"


class CallLog(Protocol):
    """Writes the one line a finished call leaves."""

    def __call__(
        self,
        *,
        method: str,
        code: str,
        seconds: float,
        decision_id: str | None,
        request_id: str | None,
        route: str | None,
        result: str | None,
        original_tokens: int | None,
        final_tokens: int | None,
        budget_tokens: int | None,
        budget_met: bool | None,
        format: str | None,
        persisted: bool | None,
        labels: Mapping[str, str],
    ) -> None:
        """Writes it; see `Call` for the facts."""
        ...


class RpcMetrics(Protocol):
    """Counts calls."""

    def rpc_started(self, method: str) -> None:
        """Counts a call that begins, by the full name of its method."""
        ...

    def rpc_handled(self, method: str, code: str, seconds: float) -> None:
        """Counts a call that ended, by its method, the name of its status code, and its time (seconds)."""
        ...


def standard_interceptors(
    log: CallLog, metrics: RpcMetrics, clock: Clock, new_request_id: Callable[[], str]
) -> tuple[Interceptor, ...]:
    """The interceptors in their order, the outermost first.

    Args:
        log: Where a finished call's line goes.
        metrics: Where calls are counted.
        clock: Tells how long a call took.
        new_request_id: Makes an id for a call whose caller gave none.
    """
    return (
        Interceptor("request_id", lambda call: _request_id(call, new_request_id)),
        Interceptor("log", lambda call: _logged(call, log, clock)),
        Interceptor("metrics", lambda call: _counted(call, metrics, clock)),
        Interceptor("errors", _answered),
        Interceptor("deadline", _awaited),
    )


@contextmanager
def _request_id(call: Call, new_request_id: Callable[[], str]) -> Iterator[None]:
    given = (value for name, value in call.context.invocation_metadata() if name == REQUEST_ID_HEADER)
    header = str(next(given, ""))[:REQUEST_ID_CHARS] or new_request_id()
    call.request_id = header
    call.add_trailer(REQUEST_ID_HEADER, header)
    yield


@contextmanager
def _logged(call: Call, log: CallLog, clock: Clock) -> Iterator[None]:
    try:
        yield
    finally:
        # Probes come every few seconds and would drown the log.
        if not call.method.startswith(_HEALTH):
            with _at_no_cost("log"):
                log(
                    method=call.method,
                    code=code_of(call),
                    seconds=clock.monotonic() - call.started,
                    decision_id=call.decision_id,
                    request_id=call.request_id,
                    route=call.route,
                    result=call.result,
                    original_tokens=call.original_tokens,
                    final_tokens=call.final_tokens,
                    budget_tokens=call.budget_tokens,
                    budget_met=call.budget_met,
                    format=call.format,
                    persisted=call.persisted,
                    labels=call.labels,
                )


@contextmanager
def _counted(call: Call, metrics: RpcMetrics, clock: Clock) -> Iterator[None]:
    with _at_no_cost("metrics"):
        metrics.rpc_started(call.method)
    try:
        yield
    finally:
        with _at_no_cost("metrics"):
            metrics.rpc_handled(call.method, code_of(call), clock.monotonic() - call.started)


@contextmanager
def _answered(call: Call) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        abort(call, error)
        raise


@contextmanager
def _awaited(call: Call) -> Iterator[None]:
    """Lets no call take up a thread that nobody waits for: under load, those would crowd out the others."""
    if not call.context.is_active() or call.context.time_remaining() <= 0:
        raise NobodyWaitsError
    yield


@contextmanager
def _at_no_cost(name: str) -> Iterator[None]:
    """Keeps a failure of the bookkeeping away from the answer."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 no bookkeeping is worth an answer
        _LOG.error("the interceptor %s failed: %s", name, told(error))
