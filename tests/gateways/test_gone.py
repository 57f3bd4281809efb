"""Envoy's stream over real gRPC, ended while its request is being decided."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import Chars3
from pinch_server.decide import Decider, Lanes, Policy
from pinch_server.gateways.envoy.exchange import Around
from pinch_server.gateways.envoy.service import process_handler
from pinch_server.gateways.envoy.v1 import external_processor_pb2 as pb
from pinch_server.gateways.in_time import InTime
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
