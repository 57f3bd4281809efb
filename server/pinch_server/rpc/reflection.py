"""What the service tells tools such as grpcurl about its methods."""

import threading
from collections.abc import Iterable, Iterator
from typing import Any, Final

import grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

_METHOD: Final = "ServerReflectionInfo"
_STREAM_SECONDS: Final = 10.0
"""How long one tool may ask: a stream holds a thread, and one left open would hold it for ever (seconds)."""


def add_reflection(names: Iterable[str], server: grpc.Server, *, seconds: float = _STREAM_SECONDS) -> None:
    """Lets tools ask a server about services by their full names.

    Args:
        names: Full names of the services.
        server: The server that answers.
        seconds: How long one stream of questions may last; then it is cancelled.
    """
    servicer: Any = reflection.ReflectionServicer((*names, reflection.SERVICE_NAME))

    def answers(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        end = threading.Timer(seconds, context.cancel)
        end.daemon = True
        end.start()
        try:
            yield from servicer.ServerReflectionInfo(requests, context)
        finally:
            end.cancel()

    handler = grpc.stream_stream_rpc_method_handler(
        answers,
        reflection_pb2.ServerReflectionRequest.FromString,
        reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(reflection.SERVICE_NAME, {_METHOD: handler}),)
    )
