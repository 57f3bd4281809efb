"""A span around each call, where there are spans."""

import logging
from collections.abc import Mapping
from typing import Final, Protocol

from pinch_server.faults import told
from pinch_server.rpc.call import Call
from pinch_server.rpc.errors import code_of
from pinch_server.rpc.gates import HEALTH, Metadata

_LOG: Final = logging.getLogger(__name__)
_FACTS: Final = (
    "request_id",
    "decision_id",
    "route",
    "result",
    "original_tokens",
    "final_tokens",
    "budget_tokens",
    "budget_met",
    "format",
    "persisted",
)
"""What a span tells of a call: the members of its log line, without the router's own words."""


class CallSpan(Protocol):
    """The span of one call."""

    @property
    def trace_id(self) -> str:
        """The trace it belongs to, 32 hexadecimal digits."""
        ...

    def ended(self, code: str, facts: Mapping[str, str | int | bool]) -> None:
        """Ends it with the name of the call's status code and what is known of the decision."""
        ...


class CallSpans(Protocol):
    """Makes spans."""

    def started(self, method: str, metadata: Metadata) -> CallSpan:
        """Begins the span of a call, under the one that its metadata name."""
        ...


class Traced:
    """The context of a call that leaves a span; health checks leave none."""

    __slots__ = ("_call", "_span", "_spans")

    def __init__(self, call: Call, spans: CallSpans) -> None:
        self._call = call
        self._spans = spans
        self._span: CallSpan | None = None

    def __enter__(self) -> None:
        call = self._call
        # Probes come every few seconds and would drown the others.
        if call.method.startswith(HEALTH):
            return
        try:
            self._span = self._spans.started(call.method, call.context.invocation_metadata() or ())
            call.trace_id = self._span.trace_id
        except Exception as error:  # noqa: BLE001 no bookkeeping is worth an answer
            _tell_failed(error)

    def __exit__(self, *_error: object) -> None:
        call = self._call
        if self._span is None:
            return
        try:
            facts = {name: value for name in _FACTS if (value := getattr(call, name)) is not None}
            self._span.ended(code_of(call), facts)
        except Exception as error:  # noqa: BLE001 no bookkeeping is worth an answer
            _tell_failed(error)


def _tell_failed(error: Exception) -> None:
    _LOG.error("the interceptor trace failed: %s", told(error))
