"""Starting, readiness and draining."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.core.decision import Decision
from pinch_server.rpc.server import METHODS, SERVICE_NAMES
from tests.rpc.conversations import body, typed
from tests.rpc.service import MIB, Kept, Service, running

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
NAMES = ("", "pinch.v1.PruneService", "pinch.v1.InsightService", "pinch.v1.AdminService")


class Held(Kept):
    """A recorder that holds a call in flight until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.may_go_on = threading.Event(), threading.Event()

    def record(self, decision: Decision) -> bool:
        self.entered.set()
        return self.may_go_on.wait(30) and super().record(decision)


def health(service: Service, name: str) -> int:
    return (
        health_pb2_grpc.HealthStub(service.channel).Check(health_pb2.HealthCheckRequest(service=name)).status
    )


def test_health_tells_readiness_overall_and_for_each_service() -> None:
    """Every service and the whole answer SERVING, and NOT_SERVING while the server is not ready."""
    assert NAMES[1:] == SERVICE_NAMES
    with running() as service:
        assert [health(service, name) for name in NAMES] == [SERVING] * 4
        service.server.set_ready(is_ready=False)
        assert [health(service, name) for name in NAMES] == [NOT_SERVING] * 4
        assert not service.server.is_ready
        service.server.set_ready(is_ready=True)
        assert service.server.is_ready
        with pytest.raises(grpc.RpcError) as caught:
            health(service, "no.such.Service")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_a_call_in_flight_survives_a_drain() -> None:
    """While the server drains, health says so, new calls are refused, and the call in flight is answered."""
    held, stopping = Held(), threading.Event()

    def note(state: grpc.ChannelConnectivity) -> None:
        if held.entered.is_set() and state is not grpc.ChannelConnectivity.READY:
            stopping.set()

    with running(recorder=held) as service:
        watch = health_pb2_grpc.HealthStub(service.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == SERVING
        pending = service.prune.Prune.future(pb.PruneRequest(chat=typed()))
        assert held.entered.wait(30)
        service.channel.subscribe(note)
        drain = threading.Thread(target=service.server.drain, args=(30,))
        drain.start()
        assert next(watch).status == NOT_SERVING
        assert not service.server.is_ready
        watch.cancel()
        # The server says goodbye to its connections once it takes no more calls.
        assert stopping.wait(30)
        with grpc.insecure_channel(service.server.address) as late:
            with pytest.raises(grpc.RpcError) as caught:
                PruneServiceStub(late).Prune(pb.PruneRequest(chat=typed()), timeout=30)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        held.may_go_on.set()
        assert pending.result(30).stats.pruned
        drain.join(30)
        assert not drain.is_alive()
        assert len(held.decisions) == 1
        service.server.set_ready(is_ready=True)
        assert not service.server.is_ready


def test_a_call_beyond_the_grace_is_cut_short() -> None:
    """A drain ends although a call does not; its caller reads an error and not half a reply."""
    held = Held()
    with running(recorder=held) as service:
        pending = service.prune.Prune.future(pb.PruneRequest(chat=typed()))
        assert held.entered.wait(30)
        service.server.drain(0)
        assert pending.exception(30).code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        held.may_go_on.set()


def test_a_unix_socket_serves(tmp_path: Path) -> None:
    """A server may listen on a socket file, and its address is what a client dials."""
    with running(listen=f"unix:{tmp_path}/p.sock") as service:
        assert service.server.address == f"unix:{tmp_path}/p.sock"
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).stats.pruned


def test_an_address_that_is_taken_is_an_os_error() -> None:
    """A port that another server has is refused at the start, with the address."""
    with (
        running() as service,
        pytest.raises(OSError, match=service.server.address),
        running(listen=service.server.address),
    ):
        pass


def test_every_method_of_the_contract_is_counted() -> None:
    """The names that metrics know are those of all services, so that no call of ours counts as unknown."""
    assert {name.rsplit("/", 1)[1] for name in METHODS} == {
        "Prune",
        "ReportOutcome",
        "Expand",
        "GetSavings",
        "GetDecision",
        "ListDecisions",
        "GetSettings",
        "UpdateSettings",
        "Check",
        "Process",
    }


def test_a_message_of_just_the_standard_size_is_taken() -> None:
    """By default nearly 64 MiB go in and are answered, and a message beyond that is refused."""
    with running() as service:
        sent = b'{"model":"%s","messages":[]}' % (b"x" * (64 * MIB - 4_096))
        reply = service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(json=sent)), timeout=60)
        assert reply.decision_id
        with pytest.raises(grpc.RpcError) as caught:
            service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(json=b"x" * 65 * MIB)), timeout=60)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@contextmanager
def relay(address: str, seen: bytearray) -> Iterator[str]:
    """An address that leads to another, and keeps all bytes that come back from there."""
    host, _, port = address.rpartition(":")

    def pump(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
        try:
            while data := source.recv(65_536):
                kept += data
                sink.sendall(data)
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0)) as door, socket.create_connection((host, int(port))) as far:

        def serve() -> None:
            near, _ = door.accept()
            with near:
                back = threading.Thread(target=pump, args=(far, near, seen))
                back.start()
                pump(near, far, bytearray())
                with suppress(OSError):
                    far.shutdown(socket.SHUT_RDWR)
                back.join()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{door.getsockname()[1]}"
        thread.join()


def test_replies_are_never_compressed() -> None:
    """A caller that would take gzip, and sends it, gets plain bytes: compressing costs more than it saves."""
    seen = bytearray()
    big = {**json.loads(body()), "user": "z" * 50_000}
    request = pb.PruneRequest(
        body=pb.RequestBody(json=json.dumps(big).encode()), reply_form=pb.REPLY_FORM_FULL
    )
    with running() as service, relay(service.server.address, seen) as address:
        options = [("grpc.default_compression_algorithm", 2), ("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(address, options=options) as channel:
            assert PruneServiceStub(channel).Prune(request, timeout=60).stats.final_tokens
    assert b"z" * 10_000 in seen
