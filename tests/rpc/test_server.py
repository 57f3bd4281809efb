"""Starting, readiness and draining."""

import threading
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.core.decision import Decision
from pinch_server.rpc.server import METHODS, SERVICE_NAMES
from tests.rpc.conversations import typed
from tests.rpc.service import Kept, Service, running

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
    }
