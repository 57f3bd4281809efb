"""Callers that begin a call and do not send its message keep no thread for long."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from pinch.v1 import prune_pb2 as pb
from pinch_server.rpc import chain
from tests.rpc.conversations import typed
from tests.rpc.service import Service, refusal, running

PRUNE = "/pinch.v1.PruneService/Prune"
EXPAND = "/pinch.v1.PruneService/Expand"
CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
SILENT = 40


@contextmanager
def silent(service: Service, method: str) -> Iterator[list[grpc.Future]]:
    """More calls than there are threads, of which none sends its message while the block lasts."""
    over = threading.Event()

    def nothing() -> Iterator[bytes]:
        over.wait()
        yield from ()

    calls = [
        service.channel.stream_stream(method)(nothing(), wait_for_ready=True)
        if method == WATCH
        else service.channel.stream_unary(method).future(nothing())
        for _ in range(SILENT)
    ]
    try:
        yield calls
    finally:
        over.set()
        for call in calls:
            call.cancel()


def test_calls_without_a_message_end_and_are_counted() -> None:
    """Silent calls of Prune on every thread are ended, logged and counted; other calls are answered then."""
    with running(threads=2, message_seconds=0.2) as service, silent(service, PRUNE) as calls:
        assert service.prune.Prune(pb.PruneRequest(chat=typed()), timeout=60).stats.pruned
        for call in calls:
            assert call.exception(60) is not None
        ended = 'grpc_server_handled_total{grpc_code="DEADLINE_EXCEEDED",grpc_method="Prune"'
        assert service.metric(f'{ended},grpc_service="pinch.v1.PruneService"}}') > 0
        assert {line["code"] for line in service.log} == {"OK", "DEADLINE_EXCEEDED"}


@pytest.mark.parametrize("method", [CHECK, WATCH])
def test_probes_are_answered_beside_probes_without_a_message(method: str) -> None:
    """Silent health checks, more than there are spare threads, hold up no health check for good."""
    with running(threads=2) as service, silent(service, method):
        health = health_pb2_grpc.HealthStub(service.channel)
        for _ in range(3):
            reply = health.Check(health_pb2.HealthCheckRequest(), timeout=60)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("method", [CHECK, WATCH])
def test_a_probe_does_not_wait_for_the_silent_ones(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent health checks make room for those behind them at once, not when their time is over."""
    monkeypatch.setattr(chain, "_PROBE_SECONDS", 3600.0)
    with running(threads=2, message_seconds=3600) as service, silent(service, method):
        health = health_pb2_grpc.HealthStub(service.channel)
        for _ in range(3):
            reply = health.Check(health_pb2.HealthCheckRequest(), timeout=60)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING


def test_a_question_waits_for_silent_ones_no_longer_than_a_probe_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent questions on every thread for questions end long before a large message has to be there."""
    monkeypatch.setattr(chain, "_PROBE_SECONDS", 0.2)
    with running(message_seconds=3600) as service, silent(service, EXPAND) as calls:
        with pytest.raises(grpc.RpcError) as caught:
            service.prune.Expand(pb.ExpandRequest(reference="a" * 24), timeout=60)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        for call in calls:
            assert call.exception(60) is not None


def test_a_stream_that_falls_silent_ends() -> None:
    """Reflection streams that are left open free their threads, after they have answered what was asked."""
    over = threading.Event()

    def one_question() -> Iterator[reflection_pb2.ServerReflectionRequest]:
        yield reflection_pb2.ServerReflectionRequest(list_services="")
        over.wait()

    with running(threads=2, message_seconds=0.2, shows_itself=True) as service:
        stub = reflection_pb2_grpc.ServerReflectionStub(service.channel)
        streams = [stub.ServerReflectionInfo(one_question()) for _ in range(4)]
        try:
            assert all(next(stream).list_services_response.service for stream in streams)
            assert service.prune.Prune(pb.PruneRequest(chat=typed()), timeout=60).stats.pruned
        finally:
            over.set()


def test_a_call_that_ends_without_a_message_is_refused() -> None:
    """A call that closes before it has sent anything is INVALID_ARGUMENT, with its reason."""
    with running() as service:
        call = service.channel.stream_unary(PRUNE)
        with pytest.raises(grpc.RpcError) as caught:
            call(iter(()), timeout=60)
    found = refusal(caught.value)
    assert (found.code, found.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "NO_MESSAGE")
