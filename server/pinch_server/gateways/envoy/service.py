"""The gRPC method that Envoy calls: one stream for each request of its own."""

from collections.abc import Callable, Iterator

import grpc

from pinch_server.decide import Decided
from pinch_server.gateways.envoy.exchange import Around, Exchange
from pinch_server.gateways.envoy.v1 import external_processor_pb2 as pb

Account = Callable[[grpc.ServicerContext, str, float, Decided | None, str], None]
"""Takes what became of a request: its stream, result, seconds, decision and Envoy's id of it."""


def process_handler(
    around: Around, account: Account, tenant: Callable[[], str]
) -> "grpc.RpcMethodHandler[bytes, bytes]":
    """Serves `envoy.service.ext_proc.v3.ExternalProcessor/Process`.

    Args:
        around: What every request needs.
        account: Takes what became of each.
        tenant: Tells whose the current stream is.
    """

    def process(
        steps: Iterator[pb.ProcessingRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.ProcessingResponse]:
        exchange = Exchange(around, lambda *facts: account(context, *facts), tenant())
        try:
            for step in steps:
                # What Envoy does not wait for cannot be changed any more.
                if step.observability_mode:
                    continue
                answer = exchange.answer(step)
                if not context.is_active():
                    # Envoy's message_timeout was over first, or whoever asked is gone.
                    if step.HasField("request_body"):
                        exchange.unheard()
                    return
                yield answer
        except grpc.RpcError:
            # Envoy ends a stream that it needs no more by cancelling it.
            return
        finally:
            # Also when Envoy or its caller is gone in the middle of an answer.
            exchange.ended()

    return grpc.stream_stream_rpc_method_handler(
        process, pb.ProcessingRequest.FromString, pb.ProcessingResponse.SerializeToString
    )
