"""One call too many is turned away at once; a probe never is."""

import json
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.counting import Chars3
from pinch_server.core.decision import Decision
from pinch_server.decide import Patience
from tests.gateways.test_in_time import Hand
from tests.rpc.conversations import typed
from tests.rpc.service import Kept, Service, refusal, running
from tests.workers.processes import until

SHED = 'pinch_calls_shed_total{reason="too_many"}'


class Blocked(Kept):
    """A recorder at which every call stops until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived, self.go_on = threading.Semaphore(0), threading.Event()

    def record(self, decision: Decision) -> bool:
        self.arrived.release()
        return self.go_on.wait(60) and super().record(decision)


@contextmanager
def full(threads: int, most: int) -> Iterator[tuple[Service, Blocked, list[grpc.Future]]]:
    """A service all of whose threads are at a call, with as many more waiting as may be."""
    blocked = Blocked()
    with running(recorder=blocked, threads=threads, most_calls=most) as service:
        pending = [service.prune.Prune.future(pb.PruneRequest(chat=typed())) for _ in range(most)]
        for _ in range(threads):
            assert blocked.arrived.acquire(timeout=30)
        until(lambda: service.threads.calls.in_flight == most)
        try:
            yield service, blocked, pending
        finally:
            blocked.go_on.set()


def test_a_call_too_many_is_shed_and_told_when_to_come_again() -> None:
    """Beyond the limit a call is RESOURCE_EXHAUSTED at once, with RetryInfo; those before it are answered."""
    with full(threads=2, most=5) as (service, blocked, pending):
        with pytest.raises(grpc.RpcError) as caught:
            service.prune.Prune(pb.PruneRequest(chat=typed()), timeout=30)
        found = refusal(caught.value)
        assert (found.code, found.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
        assert found.request_id == "made-for-this-call"
        retry = error_details_pb2.RetryInfo()
        assert any(detail.Unpack(retry) for detail in rpc_status.from_call(caught.value).details)
        assert retry.retry_delay.seconds == 1
        assert service.metric(SHED) == 1
        assert service.log[-1]["code"] == "RESOURCE_EXHAUSTED"
        blocked.go_on.set()
        assert [call.result(30).stats.pruned for call in pending] == [True] * 5
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).stats.pruned


def test_health_checks_are_answered_while_every_thread_is_blocked() -> None:
    """With all threads at calls and the queue full, Check and Watch answer SERVING without being counted."""
    with full(threads=1, most=2) as (service, _blocked, _pending):
        health = health_pb2_grpc.HealthStub(service.channel)
        for _ in range(20):
            reply = health.Check(health_pb2.HealthCheckRequest(), timeout=30)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        watch = health.Watch(health_pb2.HealthCheckRequest(), timeout=30)
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        watch.cancel()


def test_a_caller_that_gives_up_frees_its_place() -> None:
    """Calls that are cancelled while they wait do not count for ever."""
    with full(threads=1, most=3) as (service, blocked, pending):
        for call in pending:
            call.cancel()
        blocked.go_on.set()
        until(lambda: service.threads.calls.in_flight == 0)
        assert service.prune.Prune(pb.PruneRequest(chat=typed()), timeout=30).stats.pruned


def test_connections_are_renewed_at_their_age() -> None:
    """A connection older than its age is ended by the server, and calls go on over a new one."""
    with running(max_age_seconds=0.2) as service:
        renewed = threading.Event()
        seen: list[grpc.ChannelConnectivity] = []

        def note(state: grpc.ChannelConnectivity) -> None:
            seen.append(state)
            if grpc.ChannelConnectivity.READY in seen[:-1] and state is not grpc.ChannelConnectivity.READY:
                renewed.set()

        service.channel.subscribe(note, try_to_connect=True)
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).stats.pruned
        assert renewed.wait(30)
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).stats.pruned


def test_a_client_that_pings_without_end_is_cut_off() -> None:
    """Pings closer than ten seconds are forgiven twice; then the server says why it goes, and goes."""

    def frame(kind: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3, "big") + bytes((kind, 0)) + bytes(4) + payload

    settings, ping, goaway, enhance_your_calm = 4, 6, 7, 11
    with running() as service:
        host, _, port = service.server.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings, b""))
            connection.sendall(frame(ping, bytes(8)) * 10)
            said = connection.makefile("rb")
            kinds: dict[int, bytes] = {}
            while len(head := said.read(9)) == 9:
                kinds[head[3]] = said.read(int.from_bytes(head[:3], "big"))
        assert kinds[goaway][4:8] == enhance_your_calm.to_bytes(4, "big")
        assert kinds[goaway][8:] == b"too_many_pings"
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).stats.pruned


@pytest.mark.parametrize("has_channelz", [True, False])
def test_channelz_is_there_when_it_was_asked_for(has_channelz: bool) -> None:
    """Tools may look at the server's connections only where the setting says so."""
    with running(has_channelz=has_channelz) as service:
        stub = channelz_pb2_grpc.ChannelzStub(service.channel)
        if has_channelz:
            found = stub.GetServers(channelz_pb2.GetServersRequest())
            sockets = [socket.name for server in found.server for socket in server.listen_socket]
            assert any("127.0.0.1" in name for name in sockets)
            return
        with pytest.raises(grpc.RpcError) as caught:
            stub.GetServers(channelz_pb2.GetServersRequest())
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


class Gate:
    """A counter that holds the texts with a word in them until it is let go."""

    def __init__(self) -> None:
        self._inner = Chars3()
        self.arrived, self.go_on = threading.Semaphore(0), threading.Event()

    @property
    def method(self) -> str:
        return self._inner.method

    def error_bound(self, texts: Iterable[str]) -> float:
        return self._inner.error_bound(texts)

    def units(self, texts: Sequence[str]) -> list[int]:
        if any("held here" in text for text in texts):
            self.arrived.release()
            assert self.go_on.wait(60)
        return self._inner.units(texts)

    def tokens(self, units: int) -> int:
        return self._inner.tokens(units)


def of(text: str, size: int = 100_000) -> pb.PruneRequest:
    said = {"model": "m", "messages": [{"role": "user", "content": f"{text} {'x' * size}"}]}
    return pb.PruneRequest(body=pb.RequestBody(json=json.dumps(said).encode()))


def test_large_calls_that_would_be_late_are_turned_away_before_they_are_worked_on() -> None:
    """Behind a large call one that would be late is refused, a cancelled one never begins; small ones go."""
    gate, clock = Gate(), Hand()
    with running(counter=gate, lanes_clock=clock) as service:
        prune = service.prune.Prune
        with service.lanes.place(100_000, Patience()):
            clock.at += 100
        first = prune.future(of("held here"))
        assert gate.arrived.acquire(timeout=30)
        patient = prune.future(of("patient"), timeout=3600)
        with pytest.raises(grpc.RpcError) as caught:
            prune(of("late"), timeout=100)
        found = refusal(caught.value)
        assert (found.code, found.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "NO_TIME")
        retry = error_details_pb2.RetryInfo()
        assert any(detail.Unpack(retry) for detail in rpc_status.from_call(caught.value).details)
        assert service.metric('pinch_calls_shed_total{reason="no_time"}') == 1
        assert prune(of("small", 10), timeout=30).stats.original_tokens
        gone = prune.future(of("held here too"), timeout=3600)
        until(lambda: service.threads.calls.in_flight == 3)
        gone.cancel()
        until(lambda: service.threads.calls.in_flight == 2)
        assert not first.done()
        assert not patient.done()
        gate.go_on.set()
        assert first.result(30).stats.original_tokens > 30_000 < patient.result(30).stats.original_tokens
        # The one that was cancelled has not come to the counter.
        assert not gate.arrived.acquire(blocking=False)


def test_patient_large_calls_do_not_hold_all_threads() -> None:
    """Of many large calls without a deadline so many wait that a small one is answered meanwhile."""
    gate, clock = Gate(), Hand()
    with running(counter=gate, lanes_clock=clock, threads=4) as service:
        prune = service.prune.Prune
        with service.lanes.place(100_000, Patience()):
            clock.at += 100
        first = prune.future(of("held here"))
        assert gate.arrived.acquire(timeout=30)
        others = [prune.future(of("patient")) for _ in range(6)]
        try:
            assert prune(of("small", 10), timeout=60).stats.original_tokens
        finally:
            gate.go_on.set()
        codes = [call.code() for call in (first, *others)]
        assert set(codes) == {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert codes[0] is grpc.StatusCode.OK
