"""Envoy's stream over real gRPC: never begun, or ended while its request is being decided."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from pinch_server.app import App
from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import Chars3
from pinch_server.decide import Decider, Lanes, Policy
from pinch_server.gateways.envoy.exchange import Around
from pinch_server.gateways.envoy.service import process_handler
from pinch_server.gateways.envoy.v1 import external_processor_pb2 as pb
from pinch_server.gateways.in_time import InTime
from pinch_server.settings import load_settings
from tests.gateways.ports import Held
from tests.gateways.test_exchange import asked, sent
from tests.rpc.conversations import body
from tests.rpc.service import SMALL
from tests.test_decide import Watched

PROCESS = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"


def test_an_answer_that_nobody_waits_for_is_taken_back() -> None:
    """A decision that was recorded after Envoy had gone on without it is rejected, and saves nothing."""
    held, clock, gone, done = Held(), SystemClock(), threading.Event(), threading.Event()
    decider = Decider(
        Policy(SMALL, True, "fingerprint", b"key"), Chars3(), held, Watched(), clock, Uuid7Ids()
    )
    in_time = InTime(decider, Lanes(clock), clock, 2, 8)
    handler = process_handler(Around(in_time, 60.0, decider.report, clock), lambda *_facts: None, lambda: "")

    def process(
        steps: Iterator[pb.ProcessingRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.ProcessingResponse]:
        context.add_callback(gone.set)
        try:
            yield from handler.stream_stream(steps, context)
        finally:
            done.set()

    class Only(grpc.GenericRpcHandler):
        def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
            assert handler_call_details.method == PROCESS
            return grpc.stream_stream_rpc_method_handler(
                process, pb.ProcessingRequest.FromString, pb.ProcessingResponse.SerializeToString
            )

    server = grpc.server(ThreadPoolExecutor(2), handlers=[Only()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    steps: queue.SimpleQueue[pb.ProcessingRequest] = queue.SimpleQueue()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.stream_stream(
                PROCESS, pb.ProcessingRequest.SerializeToString, pb.ProcessingResponse.FromString
            )(iter(steps.get, None))
            steps.put(asked())
            assert next(call).HasField("request_headers")
            steps.put(sent(body()))
            assert held.reached.wait(30)
            call.cancel()
            assert gone.wait(30)
            held.let_go.set()
            assert done.wait(30)
            steps.put(None)  # type: ignore[arg-type] # ends the thread that sends
    finally:
        held.let_go.set()
        server.stop(None).wait()
        in_time.close(30)
    (decision,) = held.kept.decisions
    assert [(one.decision_id, one.outcome) for one in held.kept.outcomes] == [
        (decision.decision_id, "REJECTED")
    ]


def test_a_stream_that_never_begins_keeps_no_place(tmp_path: Path) -> None:
    """A stream without a first message is ended; one that has begun may fall silent while a model answers."""
    (tmp_path / "pinch.toml").write_text(
        '[server]\nlisten = "127.0.0.1:0"\nhttp_listen = "127.0.0.1:0"\nworkers = 1\nmessage_seconds = 0.2\n'
        "[gateways]\nenvoy_streams = 2\n"
    )
    app = App(load_settings(tmp_path / "pinch.toml", {"PINCH_STORE__STATE_DIR": str(tmp_path)}))
    app.start()
    begun: queue.SimpleQueue[pb.ProcessingRequest] = queue.SimpleQueue()
    never: queue.SimpleQueue[pb.ProcessingRequest] = queue.SimpleQueue()
    try:
        with grpc.insecure_channel(app.addresses.grpc) as channel:
            process = channel.stream_stream(
                PROCESS, pb.ProcessingRequest.SerializeToString, pb.ProcessingResponse.FromString
            )
            envoy = process(iter(begun.get, None), timeout=60)
            begun.put(asked())
            assert next(envoy).HasField("request_headers")
            with pytest.raises(grpc.RpcError) as caught:
                next(process(iter(never.get, None), timeout=30))
            # Ended by the service: the time of its caller was not over.
            assert caught.value.code() is not grpc.StatusCode.DEADLINE_EXCEEDED
            begun.put(sent(body()))
            assert next(envoy).HasField("request_body")
            for steps in (begun, never):
                steps.put(None)  # type: ignore[arg-type] # ends the thread that sends
    finally:
        app.stop()
