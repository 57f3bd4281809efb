"""The interceptors every call goes through."""

import logging
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from pinch_server.decide import NobodyWaitsError
from pinch_server.faults import told
from pinch_server.ports import Clock
from pinch_server.rpc.call import REQUEST_ID_CHARS, Call
from pinch_server.rpc.chain import Gate, Interceptor
from pinch_server.rpc.errors import abort, code_of
from pinch_server.rpc.gates import HEALTH, Auth, Overload
from pinch_server.rpc.traced import CallSpans, Traced

REQUEST_ID_HEADER: Final = "x-request-id"
"""Metadata that names a call: taken from the request where it is there, sent back with every status."""

_LOG: Final = logging.getLogger(__name__)


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
        trace_id: str | None,
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
    log: CallLog,
    metrics: RpcMetrics,
    clock: Clock,
    new_request_id: Callable[[], str],
    *,
    overload: Overload | None = None,
    auth: Auth | None = None,
    spans: CallSpans | None = None,
) -> tuple[Interceptor | Gate, ...]:
    """The interceptors in their order, the outermost first.

    Args:
        log: Where a finished call's line goes.
        metrics: Where calls are counted.
        clock: Tells how long a call took.
        new_request_id: Makes an id for a call whose caller gave none.
        overload: Turns away calls that are too many; None: there are never too many.
        auth: Turns away callers without the right token; None: none is needed.
        spans: Makes a span of each call; None: there are none.
    """
    return (
        Interceptor("request_id", lambda call: _RequestId(call, new_request_id)),
        *(() if spans is None else (Interceptor("trace", lambda call: Traced(call, spans)),)),
        Interceptor("log", lambda call: _Logged(call, log, clock)),
        Interceptor("metrics", lambda call: _Counted(call, metrics, clock)),
        *(() if overload is None else (Gate("overload", overload),)),
        *(() if auth is None else (Gate("auth", auth),)),
        Interceptor("errors", _Answered),
        Interceptor("deadline", _Awaited),
    )


class _RequestId:
    """Names the call, and tells the caller the name."""

    __slots__ = ("_call", "_new")

    def __init__(self, call: Call, new_request_id: Callable[[], str]) -> None:
        self._call = call
        self._new = new_request_id

    def __enter__(self) -> None:
        call = self._call
        given = ""
        for name, value in call.context.invocation_metadata():
            if name == REQUEST_ID_HEADER:
                given = str(value)
                break
        call.request_id = given[:REQUEST_ID_CHARS] or self._new()
        call.add_trailer(REQUEST_ID_HEADER, call.request_id)

    def __exit__(self, *_error: object) -> None:
        return


class _Logged:
    """Writes the line of a call when it has ended."""

    __slots__ = ("_call", "_clock", "_log")

    def __init__(self, call: Call, log: CallLog, clock: Clock) -> None:
        self._call = call
        self._log = log
        self._clock = clock

    def __enter__(self) -> None:
        return

    def __exit__(self, *_error: object) -> None:
        call = self._call
        # Probes come every few seconds and would drown the log.
        if call.method.startswith(HEALTH):
            return
        try:
            self._log(
                method=call.method,
                code=code_of(call),
                seconds=self._clock.monotonic() - call.started,
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
                trace_id=call.trace_id,
            )
        except Exception as error:  # noqa: BLE001 no bookkeeping is worth an answer
            _tell_failed("log", error)


class _Counted:
    """Counts a call when it begins and when it has ended."""

    __slots__ = ("_call", "_clock", "_metrics")

    def __init__(self, call: Call, metrics: RpcMetrics, clock: Clock) -> None:
        self._call = call
        self._metrics = metrics
        self._clock = clock

    def __enter__(self) -> None:
        try:
            self._metrics.rpc_started(self._call.method)
        except Exception as error:  # noqa: BLE001 no bookkeeping is worth an answer
            _tell_failed("metrics", error)

    def __exit__(self, *_error: object) -> None:
        call = self._call
        try:
            self._metrics.rpc_handled(call.method, code_of(call), self._clock.monotonic() - call.started)
        except Exception as error:  # noqa: BLE001 no bookkeeping is worth an answer
            _tell_failed("metrics", error)


class _Answered:
    """Ends a call that failed with the status that stands for its error."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception):
            abort(self._call, error)


class _Awaited:
    """Lets no call take up a thread that nobody waits for: under load, those would crowd out the others."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def __enter__(self) -> None:
        context = self._call.context
        if not context.is_active() or context.time_remaining() <= 0:
            raise NobodyWaitsError

    def __exit__(self, *_error: object) -> None:
        return


def _tell_failed(name: str, error: Exception) -> None:
    _LOG.error("the interceptor %s failed: %s", name, told(error))
