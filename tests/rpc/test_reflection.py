"""What tools are told about the service's methods."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2 as pb

from bench.running_server import running_server
from pinch_server.rpc.reflection import add_reflection
from pinch_server.rpc.server import SERVICE_NAMES
from tests.rpc.service import running

METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
SECONDS = 30


def stream(address: str, questions: Iterator[Any]) -> list[Any]:
    """All answers to a stream of questions."""
    with grpc.insecure_channel(address) as channel:
        ask = channel.stream_stream(
            METHOD,
            request_serializer=pb.ServerReflectionRequest.SerializeToString,
            response_deserializer=pb.ServerReflectionResponse.FromString,
        )
        return list(ask(questions, timeout=SECONDS))


def services() -> Iterator[Any]:
    """The question which services there are."""
    return iter([pb.ServerReflectionRequest(list_services="")])


def test_a_service_names_its_services(tmp_path: Path) -> None:
    """`pinch serve` lists its own services, health and reflection itself."""
    with running_server(tmp_path) as server:
        (answer,) = stream(server.grpc, services())
    named = {service.name for service in answer.list_services_response.service}
    others = {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert named == {*SERVICE_NAMES, *others}


def test_it_can_be_switched_off() -> None:
    """A server that is not described answers the question like any unknown method."""
    with running() as service, pytest.raises(grpc.RpcError) as caught:
        stream(service.server.address, services())
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_stream_left_open_is_ended() -> None:
    """A tool that asks nothing more does not hold a thread for ever."""
    server = grpc.server(ThreadPoolExecutor(1))
    add_reflection(SERVICE_NAMES, server, seconds=0.1)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    over = Event()

    def silence() -> Iterator[Any]:
        over.wait(SECONDS)
        yield from ()

    try:
        with pytest.raises(grpc.RpcError) as caught:
            stream(f"127.0.0.1:{port}", silence())
        assert caught.value.code() is grpc.StatusCode.CANCELLED
        # The only thread is free again.
        assert len(stream(f"127.0.0.1:{port}", services())) == 1
    finally:
        over.set()
        server.stop(None).wait()
