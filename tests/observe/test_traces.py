"""Spans of calls: which, under whom, with what in them; and that no collector ever harms a call."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from bench.running_server import RunningServer, running_server
from bench.scrape import scrape, series
from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.observe.labels import STAGES
from tests.cli.commands import ROOT, environment
from tests.rpc.conversations import body, messages
from tests.services.collector import Collector, attributes
from tests.services.embedding_faults import FaultServer
from tests.workers.processes import until

PRUNE = "pinch.v1.PruneService/Prune"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = (("traceparent", f"00-{TRACE}-{PARENT}-01"), ("tracestate", "vendor=1"))
NOT_SAMPLED = (("traceparent", f"00-{TRACE}-{PARENT}-00"),)
PLANTED = "xylophone-in-the-tool-result"
SMALL = pb.Limits(budget_tokens=2_000, keep_last_turns=1)
ANEW = pb.Limits(budget_tokens=2_000, keep_last_turns=1, stability=pb.STABILITY_PER_CALL)
SENT, LOST = 'pinch_spans_total{result="sent"}', 'pinch_spans_total{result="lost"}'


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@contextmanager
def traced(
    directory: Path, endpoint: str, *options: str, more: str = "", log: Path | None = None
) -> Iterator[RunningServer]:
    """A service that sends its spans there."""
    config = directory / "pinch.toml"
    config.write_text(f'[traces]\nenabled = true\nendpoint = "{endpoint}"\ntimeout_seconds = 0.5\n{more}')
    with running_server(directory, "--config", str(config), *options, log=log) as server:
        yield server


def prune(
    address: str,
    metadata: Sequence[tuple[str, str]] = (),
    context: pb.RequestContext | None = None,
    limits: pb.Limits = SMALL,
) -> pb.PruneResponse:
    said = messages()
    said[1]["content"] += f" {PLANTED}"
    request = pb.PruneRequest(body=pb.RequestBody(json=body(said)), limits=limits, context=context)
    with grpc.insecure_channel(address) as channel:
        reply: pb.PruneResponse = PruneServiceStub(channel).Prune(request, metadata=metadata, timeout=20)
    return reply


def other_messages() -> list[dict[str, Any]]:
    """The same session about other things, so that nothing of it was embedded before."""
    said = messages()
    for number, message in enumerate(said):
        if message["role"] == "tool":
            message["content"] = f"other words {number}\n" * 400
    return said


def metric(server: RunningServer, name: str) -> float:
    return series(scrape(server.http))[name]


def lines(server: RunningServer) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]


def test_a_call_and_its_stages_are_spans_under_the_callers(tmp_path: Path, collector: Collector) -> None:
    """A call's span continues its caller's trace and has a child for each stage; its line names the trace."""
    more = f"[relevance]\nscoring = 'lexical'\n[originals]\nenabled = true\nkey = '{'k' * 32}'\n"
    with traced(tmp_path, collector.endpoint, more=more) as server:
        reply = prune(server.grpc, SAMPLED)
        until(lambda: bool(collector.named(PRUNE)))
        (line,) = (line for line in lines(server) if line["event"] == "call")
        until(lambda: metric(server, SENT) == len(STAGES) + 1)
    (call,) = collector.named(PRUNE)
    assert (call.trace_id.hex(), call.parent_span_id.hex(), call.trace_state) == (TRACE, PARENT, "vendor=1")
    assert call.kind == call.SPAN_KIND_SERVER
    stages = [span for _, span in collector.spans() if span.name != PRUNE]
    assert [span.name for span in sorted(stages, key=lambda span: span.end_time_unix_nano)] == list(STAGES)
    for span in stages:
        assert (span.trace_id, span.parent_span_id) == (call.trace_id, call.span_id)
        assert span.start_time_unix_nano <= span.end_time_unix_nano <= call.end_time_unix_nano
    found = attributes(call)
    assert found["rpc.response.status_code"] == "OK"
    assert found["pinch.decision_id"] == reply.decision_id
    assert found["pinch.final_tokens"] == reply.stats.final_tokens
    assert line["trace_id"] == TRACE


def test_spans_hold_no_content(tmp_path: Path, collector: Collector) -> None:
    """No word of a conversation, no session, no label and no name that only a caller knows is in a span."""
    context = pb.RequestContext(session_id="jukebox", labels={"team": "blue-team"}, request_id="named")
    with traced(tmp_path, collector.endpoint) as server:
        prune(server.grpc, context=context)
        with grpc.insecure_channel(server.grpc) as channel:
            unknown = channel.unary_unary("/somebody.Service/planted-method")
            with pytest.raises(grpc.RpcError):
                unknown(PLANTED.encode(), timeout=20)
        until(lambda: bool(collector.named("_OTHER")) and bool(collector.named(PRUNE)))
    sent = b"".join(batch.SerializeToString() for batch in collector.batches)
    assert b"named" in sent
    for word in (PLANTED, "jukebox", "blue-team", "planted-method"):
        assert word.encode() not in sent
    (other,) = collector.named("_OTHER")
    assert attributes(other)["rpc.response.status_code"] == "UNIMPLEMENTED"
    assert other.status.code == other.status.STATUS_CODE_ERROR


def test_the_trace_goes_on_to_the_embedding_endpoint(tmp_path: Path, collector: Collector) -> None:
    """A request for embeddings carries a traceparent of the call's trace, and its span says why it failed."""
    embedder = FaultServer()
    more = f'[relevance]\nscoring = "hybrid"\nbase_url = "{embedder.base_url}"\n'
    try:
        with traced(tmp_path, collector.endpoint, more=more) as server:
            prune(server.grpc, SAMPLED, limits=ANEW)
            embedder.fault = "500"
            with grpc.insecure_channel(server.grpc) as channel:
                request = pb.PruneRequest(body=pb.RequestBody(json=body(other_messages())), limits=ANEW)
                PruneServiceStub(channel).Prune(request, timeout=20)
            until(lambda: len(collector.named("embed")) == 2)
    finally:
        embedder.close()
    good, bad = sorted(collector.named("embed"), key=lambda span: span.end_time_unix_nano)
    assert embedder.traceparents[0] == f"00-{TRACE}-{good.span_id.hex()}-01"
    assert good.kind == good.SPAN_KIND_CLIENT
    assert good.status.code == good.status.STATUS_CODE_UNSET
    assert attributes(bad)["pinch.fault"] == "embedder_failing"
    assert bad.trace_id.hex() != TRACE


def test_each_worker_sends_its_own(tmp_path: Path, collector: Collector) -> None:
    """With several workers the spans of each come, and the page counts them together."""
    with traced(tmp_path, collector.endpoint, "--workers", "2") as server:
        for own in server.workers:
            prune(own)
        until(lambda: len(collector.named(PRUNE)) == 2)
        until(lambda: metric(server, SENT) == len(collector.spans()))
    processes = {resource["process.pid"] for resource, span in collector.spans() if span.name == PRUNE}
    assert len(processes) == 2
    assert {resource["service.name"] for resource, _ in collector.spans()} == {"pinch"}


def test_the_caller_decides_before_the_ratio_does(tmp_path: Path, collector: Collector) -> None:
    """With a ratio of 0 a sampled caller's calls alone leave spans; a caller that says no leaves none."""
    with traced(tmp_path, collector.endpoint, more="sample_ratio = 0.0\n") as server:
        for metadata in ((), NOT_SAMPLED, SAMPLED):
            prune(server.grpc, metadata)
        until(lambda: bool(collector.named(PRUNE)))
    assert [span.trace_id.hex() for span in collector.named(PRUNE)] == [TRACE]


@pytest.mark.parametrize("mood", ["down", "refuses", "hangs"])
def test_a_collector_that_takes_nothing_harms_no_call(
    tmp_path: Path, collector: Collector, mood: str
) -> None:
    """Calls are answered as ever, lost spans are counted, one line tells it, and the stop is whole."""
    if mood == "down":
        collector.close()
    else:
        collector.mood = mood  # type: ignore[assignment] # one of its words
    with traced(tmp_path, collector.endpoint) as server:
        replies = [prune(server.grpc) for _ in range(5)]
        assert all(reply.persisted and reply.stats.pruned for reply in replies)
        until(lambda: metric(server, LOST) > 0)
        assert prune(server.grpc).persisted
        assert metric(server, SENT) == 0
        assert server.stop() == 0
    told = [line for line in lines(server) if "takes no spans" in str(line["event"])]
    assert len(told) == 1
    assert PLANTED not in server.log.read_text()


def test_a_collector_that_hangs_at_the_end_does_not_hold_up_the_stop(
    tmp_path: Path, collector: Collector
) -> None:
    """A stop while a batch is without an answer is a stop in order all the same."""
    collector.mood = "hangs"
    with traced(tmp_path, collector.endpoint, more="") as server:
        prune(server.grpc)
        assert collector.arrived.wait(30)
        prune(server.grpc)
        assert server.stop() == 0


def test_spans_travel_over_grpc_too(tmp_path: Path) -> None:
    """With `protocol = grpc` a collector that speaks it gets the same spans."""
    came: list[str] = []
    arrived = threading.Event()

    class Service(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request: object, context: object) -> object:  # noqa: N802 the contract names it
            del context
            for resource in request.resource_spans:  # type: ignore[attr-defined] # untyped stubs
                came.extend(span.name for scope in resource.scope_spans for span in scope.spans)
            if PRUNE in came:
                arrived.set()
            return trace_service_pb2.ExportTraceServiceResponse()

    server = grpc.server(futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with traced(tmp_path, f"http://127.0.0.1:{port}", more="protocol = 'grpc'\n") as running:
            prune(running.grpc)
            assert arrived.wait(30)
    finally:
        server.stop(None).wait()
    assert {"read", "plan", "write", "record"} <= set(came)


_ONE_CALL = """
import sys
from pathlib import Path
from pinch import PinchClient
from pinch_server.app import App
from pinch_server.settings import ServerSettings, Settings, StoreSettings
from tests.rpc.conversations import body
app = App(Settings(
    server=ServerSettings(listen="127.0.0.1:0", http_listen="127.0.0.1:0", workers=1),
    store=StoreSettings(state_dir=Path(sys.argv[1])),
))
app.start()
with PinchClient(app.addresses.grpc, strict=True, timeout=20) as client:
    assert client.prune_openai(body()).persisted
app.stop()
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""
_WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from pinch_server.entry import main
sys.argv[1:] = ["serve", "--config", sys.argv[1], "--state-dir", sys.argv[2], "--listen", "127.0.0.1:0",
    "--http", "127.0.0.1:0", "--workers", "1"]
sys.exit(main())
"""


def python(script: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = environment(home)["PYTHONPATH"] + os.pathsep + str(ROOT)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment(home, PYTHONPATH=paths),
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_traces_nothing_of_opentelemetry_is_loaded(tmp_path: Path) -> None:
    """A service whose traces are off imports no module of OpenTelemetry, not even its API."""
    done = python(_ONE_CALL, tmp_path, str(tmp_path))
    assert (done.stdout.splitlines()[-1:], done.returncode) == (["[]"], 0), done.stderr


def test_traces_without_the_extra_say_what_to_install(tmp_path: Path) -> None:
    """With traces on and OpenTelemetry not installed, the start is refused with the command that mends it."""
    config = tmp_path / "pinch.toml"
    config.write_text("[traces]\nenabled = true\n")
    done = python(_WITHOUT, tmp_path, str(config), str(tmp_path))
    assert done.returncode != 0
    assert "pip install '.[server,otel]'" in done.stderr
