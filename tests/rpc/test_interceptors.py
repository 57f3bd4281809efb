"""What every call goes through, and what it leaves behind."""

import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pinch.v1 import prune_pb2 as pb
from pinch_server.clock import SystemClock
from pinch_server.core.decision import Decision
from pinch_server.doors.tokens import watched_tokens
from pinch_server.observe.logs import log_call
from pinch_server.observe.metrics import Metrics
from pinch_server.rpc.call import _CURRENT
from pinch_server.rpc.chain import Chain
from pinch_server.rpc.gates import Auth, Metadata, Overload
from pinch_server.rpc.interceptors import standard_interceptors
from pinch_server.rpc.traced import CallSpan
from tests.rpc.conversations import typed
from tests.rpc.service import Kept, refusal, running


class NoSpans:
    """Makes no span, ever."""

    def started(self, method: str, metadata: Metadata) -> CallSpan:
        raise RuntimeError(f"{method} with {len(metadata)} pairs")


def test_a_tracer_that_fails_harms_no_call() -> None:
    """When no span can be made, the call is answered, logged and counted as ever."""
    with running(spans=NoSpans()) as service:
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).stats.pruned
        (line,) = service.log
    assert (line["code"], line["trace_id"]) == ("OK", None)


@pytest.mark.parametrize("is_guarded", [True, False])
def test_the_order_of_the_interceptors(tmp_path: Path, is_guarded: bool) -> None:
    """Every line and count has an id, those turned away have both, and what guards nothing is not there."""
    tokens = tmp_path / "tokens"
    tokens.write_text(f"router prune plain:{'t' * 20}")
    tokens.chmod(0o600)
    clock, metrics = SystemClock(), Metrics(version="0")
    overload, auth = Overload(lambda: 0, 1, metrics), Auth(watched_tokens(tokens, clock.monotonic), metrics)
    given: dict[str, Any] = {"overload": overload, "auth": auth} if is_guarded else {}
    chain = Chain(standard_interceptors(log_call, metrics, clock, lambda: "id", **given), clock)
    guards = ("overload", "auth") if is_guarded else ()
    assert chain.names == ("request_id", "log", "metrics", *guards, "errors", "deadline")
    traced = Chain(
        standard_interceptors(log_call, metrics, clock, lambda: "id", spans=NoSpans(), **given), clock
    )
    assert traced.names == ("request_id", "trace", *chain.names[1:])


def test_a_call_leaves_one_line_with_its_decision() -> None:
    """One line a call: method, code, decision, sizes and the router's own id, and no text."""
    with running() as service:
        context = pb.RequestContext(request_id="from-the-router", labels={"team": "blue"})
        reply = service.prune.Prune(pb.PruneRequest(chat=typed(), context=context))
        (line,) = service.log
    assert line.pop("seconds") >= 0
    assert line == {
        "method": "/pinch.v1.PruneService/Prune",
        "code": "OK",
        "decision_id": reply.decision_id,
        "request_id": "from-the-router",
        "route": "unspecified",
        "result": "pruned",
        "original_tokens": reply.stats.original_tokens,
        "final_tokens": reply.stats.final_tokens,
        "budget_tokens": 2_000,
        "budget_met": reply.stats.budget_met,
        "format": None,
        "persisted": True,
        "labels": {"team": "blue"},
        "trace_id": None,
    }


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ((), "made-for-this-call"),
        ((("x-request-id", "mine"),), "mine"),
        ((("x-request-id", "a" * 500),), "a" * 128),
    ],
)
def test_a_call_is_named(metadata: tuple[tuple[str, str], ...], expected: str) -> None:
    """The caller's x-request-id, or one that was made, comes back with the status and stands in the line."""
    with running() as service:
        _, call = service.prune.Prune.with_call(pb.PruneRequest(chat=typed()), metadata=metadata)
        assert dict(call.trailing_metadata())["x-request-id"] == expected
        with pytest.raises(grpc.RpcError) as caught:
            service.prune.Prune(pb.PruneRequest(), metadata=metadata)
        assert dict(caught.value.trailing_metadata())["x-request-id"] == expected
        assert [line["request_id"] for line in service.log] == [expected, expected]


def test_a_long_id_of_the_router_is_cut_before_it_is_told_again() -> None:
    """A refused call with an id of any length and script still carries its details to the caller."""
    request = pb.PruneRequest(
        body=pb.RequestBody(json=b"{"),
        limits=pb.Limits(protected_tools=pb.ToolGlobs(globs=[""] * 100), budget_tokens=-1),
        context=pb.RequestContext(
            request_id="\U0001f600" * 100_000, rates=pb.Rates(prompt="é" * 1_000, cached_prompt="\n" * 1_000)
        ),
    )
    with running() as service:
        with pytest.raises(grpc.RpcError) as caught:
            service.prune.Prune(request, metadata=(("x-request-id", "a" * 500),))
        (line,) = service.log
    found = refusal(caught.value)
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "limits.budget_tokens" in found.violations
    assert found.request_id == line["request_id"] == "\U0001f600" * 128


def test_calls_are_counted_by_method_and_code() -> None:
    """Every call counts once as started and once under the code that its caller saw."""
    with running() as service:
        service.prune.Prune(pb.PruneRequest(chat=typed()))
        with pytest.raises(grpc.RpcError):
            service.prune.Prune(pb.PruneRequest())
        with pytest.raises(grpc.RpcError):
            service.channel.unary_unary("/no.Such/Method")(b"")
        prune = 'grpc_method="Prune",grpc_service="pinch.v1.PruneService"'
        assert service.metric(f"grpc_server_started_total{{{prune}}}") == 2
        handled = "grpc_server_handled_total"
        assert service.metric(f'{handled}{{grpc_code="OK",{prune}}}') == 1
        assert service.metric(f'{handled}{{grpc_code="INVALID_ARGUMENT",{prune}}}') == 1
        unknown = 'grpc_code="UNIMPLEMENTED",grpc_method="unknown",grpc_service="unknown"'
        assert service.metric(f"{handled}{{{unknown}}}") == 1
        assert [line["code"] for line in service.log] == ["OK", "INVALID_ARGUMENT", "UNIMPLEMENTED"]


def test_probes_are_counted_and_not_logged() -> None:
    """Health checks leave a count and no line."""
    with running() as service:
        health_pb2_grpc.HealthStub(service.channel).Check(health_pb2.HealthCheckRequest())
        check = 'grpc_code="OK",grpc_method="Check",grpc_service="grpc.health.v1.Health"'
        assert service.metric(f"grpc_server_handled_total{{{check}}}") == 1
        assert service.log == []


def test_a_call_that_its_caller_gave_up_is_not_counted_as_ok() -> None:
    """A call whose caller has gone is CANCELLED in the line, whatever the method came to."""
    entered, gone, counted = threading.Event(), threading.Event(), threading.Event()
    codes: list[str] = []

    class Slow(Kept):
        def record(self, decision: Decision) -> bool:
            _CURRENT.get().context.add_callback(gone.set)
            entered.set()
            return gone.wait(30) and super().record(decision)

    class Told(Metrics):
        def rpc_handled(self, method: str, code: str, seconds: float) -> None:
            super().rpc_handled(method, code, seconds)
            codes.append(code)
            counted.set()

    with running(recorder=Slow(), rpc_metrics=Told(version="0")) as service:
        pending = service.prune.Prune.future(pb.PruneRequest(chat=typed()))
        assert entered.wait(30)
        pending.cancel()
        assert counted.wait(30)
    assert codes == ["CANCELLED"]
