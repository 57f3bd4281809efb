"""Spans of calls and of their stages, sent to a collector by OTLP.

The only file that knows OpenTelemetry, and loaded only where traces are on. A span holds names, numbers and
ids, never a text of the conversation. A thread of its own sends them: a collector that is down costs spans.
"""

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import time_ns
from typing import Final, Protocol

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status
from opentelemetry.trace import StatusCode as SpanState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pinch_server.observe.labels import SERVER_FAULTS
from pinch_server.settings import TracesSettings

_LOG: Final = logging.getLogger(__name__)
_QUEUE_SPANS: Final = 4_096
_BATCH_SPANS: Final = 512
_PAUSE_MILLISECONDS: Final = 1_000
_CLOSE_SECONDS: Final = 2.0
"""What a stop gives the last spans to be sent (seconds)."""
_OTHER: Final = "_OTHER"
"""The method of a call that nobody serves, by OpenTelemetry's semantic conventions."""
_W3C: Final = TraceContextTextMapPropagator()


class SpanMetrics(Protocol):
    """Counts spans."""

    def spans_sent(self, count: int) -> None:
        """Counts spans that a collector took."""
        ...

    def spans_lost(self, count: int) -> None:
        """Counts spans that no collector took."""
        ...


class Traces:
    """The spans of one process, from its making until `close`.

    Args:
        settings: Where spans go, and how many.
        version: Version of the running service.
        methods: Full names of the served methods; a span of any other is not named by what its caller gave.
        metrics: Counts what became of them.
    """

    def __init__(
        self, settings: TracesSettings, version: str, methods: Iterable[str], metrics: SpanMetrics
    ) -> None:
        self._methods = {method: method.removeprefix("/") for method in methods}
        # Its words about each failed attempt are replaced by one line for each outage.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        exporter = _Counted(_exporter(settings), metrics)
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(settings.sample_ratio)),
            resource=Resource.create(
                {"service.name": "pinch", "service.version": version, "process.pid": os.getpid()}
            ),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter,
                max_queue_size=_QUEUE_SPANS,
                schedule_delay_millis=_PAUSE_MILLISECONDS,
                max_export_batch_size=_BATCH_SPANS,
                # The library does not use it; said so that its environment variable is not read.
                export_timeout_millis=settings.timeout_seconds * 1000,
            )
        )
        self._tracer = self._provider.get_tracer("pinch_server", version)

    def started(self, method: str, metadata: Sequence[tuple[str, str | bytes]]) -> "CallSpan":
        """Begins the span of a call, under the one that its caller's `traceparent` names."""
        carrier = {name: value for name, value in metadata if isinstance(value, str)}
        name = self._methods.get(method, _OTHER)
        span = self._tracer.start_span(
            name,
            _W3C.extract(carrier, Context()),
            SpanKind.SERVER,
            {"rpc.system.name": "grpc", "rpc.method": name},
        )
        # gRPC runs each call in a context of its own, so nothing is to be undone.
        contexts.attach(trace.set_span_in_context(span))
        return CallSpan(span)

    def stage(self, name: str, seconds: float) -> None:
        """Adds a span for a stage of the current call that has just ended and took `seconds`."""
        if trace.get_current_span().is_recording():
            now = time_ns()
            self._tracer.start_span(name, start_time=now - int(seconds * 1e9)).end(now)

    @contextmanager
    def round_trip(self) -> Iterator["TripSpan"]:
        """A span around a round trip of the current call to another service."""
        with self._tracer.start_as_current_span("embed", kind=SpanKind.CLIENT) as span:
            headers: dict[str, str] = {}
            _W3C.inject(headers)
            yield TripSpan(span, headers)

    def close(self) -> None:
        """Sends what can be sent in a short time, and drops the rest."""
        closing = threading.Thread(target=self._provider.shutdown, name="pinch-traces-close", daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)


class CallSpan:
    """The span of one call."""

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def trace_id(self) -> str:
        """The trace it belongs to, 32 hexadecimal digits."""
        return trace.format_trace_id(self._span.get_span_context().trace_id)

    def ended(self, code: str, facts: Mapping[str, str | int | bool]) -> None:
        """Ends it with the name of the call's status code and what is known of the decision."""
        span = self._span
        span.set_attribute("rpc.response.status_code", code)
        for name, value in facts.items():
            span.set_attribute(f"pinch.{name}", value)
        if code in SERVER_FAULTS:
            span.set_status(Status(SpanState.ERROR))
        span.end()


class TripSpan:
    """The span of one round trip."""

    __slots__ = ("_span", "headers")

    def __init__(self, span: Span, headers: Mapping[str, str]) -> None:
        self._span = span
        self.headers: Mapping[str, str] = headers
        """Headers that name it to the other service: `traceparent`, and `tracestate` where there is one."""

    def failed(self, fault: str) -> None:
        """Notes why there was no answer."""
        self._span.set_attribute("pinch.fault", fault)
        self._span.set_status(Status(SpanState.ERROR))


class _Counted(SpanExporter):
    """Counts what another exporter sends, and says once that it cannot."""

    def __init__(self, exporter: SpanExporter, metrics: SpanMetrics) -> None:
        self._exporter = exporter
        self._metrics = metrics
        self._is_failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Sends spans; what goes wrong is a result, never an exception."""
        try:
            result = self._exporter.export(spans)
        except Exception:  # noqa: BLE001 spans are never worth an error
            result = SpanExportResult.FAILURE
        if result is SpanExportResult.SUCCESS:
            self._metrics.spans_sent(len(spans))
        else:
            self._metrics.spans_lost(len(spans))
        self._tell(is_failing=result is not SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """Lets go of the connection."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing waits here."""
        del timeout_millis
        return True

    def _tell(self, *, is_failing: bool) -> None:
        if is_failing and not self._is_failing:
            _LOG.warning("the collector at traces.endpoint takes no spans: they are lost, calls are not")
        elif self._is_failing and not is_failing:
            _LOG.warning("the collector takes spans again")
        self._is_failing = is_failing


def _exporter(settings: TracesSettings) -> SpanExporter:
    # Each loads a client of its own: only the one that is wanted.
    if settings.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter as OverGrpc,
        )

        return OverGrpc(
            settings.endpoint,
            insecure=settings.endpoint.startswith("http://"),
            timeout=settings.timeout_seconds,
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter as OverHttp,
    )

    return OverHttp(f"{settings.endpoint.rstrip('/')}/v1/traces", timeout=settings.timeout_seconds)
