"""A collector of spans by OTLP over HTTP on loopback: it keeps what it gets, refuses it, or never answers."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """The collector, in threads of its own.

    Attributes:
        mood: Whether it takes spans, answers 400, or leaves requests without an answer.
        batches: What it was sent, whether it took it or not.
    """

    def __init__(self) -> None:
        self.mood: Literal["takes", "refuses", "hangs"] = "takes"
        self.batches: list[ExportTraceServiceRequest] = []
        self.arrived = threading.Event()
        """Set once a request has been read whole."""
        self._closing = threading.Event()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector._asked(self)

            def log_message(self, *_words: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        """What the service is configured with."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stops listening, and lets requests without an answer go."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def spans(self) -> list[tuple[dict[str, object], Span]]:
        """Every span so far, each with the attributes of the process it comes from."""
        return [
            (attributes(resource.resource), span)
            for batch in list(self.batches)
            for resource in batch.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def named(self, name: str) -> list[Span]:
        """The spans of one name."""
        return [span for _, span in self.spans() if span.name == name]

    def _asked(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        assert request.path == "/v1/traces"
        self.batches.append(ExportTraceServiceRequest.FromString(body))
        self.arrived.set()
        if self.mood == "hangs":
            self._closing.wait()
            return
        answer = ExportTraceServiceResponse().SerializeToString()
        request.send_response(200 if self.mood == "takes" else 400)
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)


def attributes(holder: object) -> dict[str, object]:
    """The attributes of a span or a resource, by name."""
    found = {}
    for pair in holder.attributes:  # type: ignore[attr-defined] # of either kind
        found[pair.key] = getattr(pair.value, pair.value.WhichOneof("value"))
    return found
