"""Calls made to break the service: each costs its own pruning at most."""

import json
import threading
from typing import Any

import grpc
import pytest

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.decision import Decision
from pinch_server.core.turn_frame import MESSAGE_CHARS
from tests.rpc.conversations import body, messages, typed
from tests.rpc.service import MIB, Kept, refusal, running

SECRET = "a word of the conversation"


def test_half_a_surrogate_pair_in_the_last_user_text_costs_nothing() -> None:
    """Text that UTF-8 has no bytes for is pruned and recorded like any other; the frame shows `?` for it."""
    said = messages()
    said[-1]["content"] = "And \ud800now?"
    sent = json.dumps({"messages": said}).encode()
    kept = Kept()
    with running(recorder=kept) as service:
        reply = service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(json=sent)))
    assert reply.stats.pruned
    assert reply.persisted
    assert reply.turn_frame.message == "And ?now?"
    assert [row.decision_id for row in kept.decisions] == [reply.decision_id]


@pytest.mark.parametrize("broken", ["read_request", "write_reply"])
def test_a_fault_outside_the_use_case_leaves_the_caller_whole_and_no_row(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Reading a request or writing its reply may fail: the conversation comes back, nothing is recorded."""

    def explode(*_arguments: object) -> None:
        raise RecursionError(SECRET)

    monkeypatch.setattr(f"pinch_server.rpc.prune_service.{broken}", explode)
    kept = Kept()
    with running(recorder=kept) as service:
        reply = service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(json=body())))
        assert (reply.body.json, reply.unchanged_reason) == (body(), "internal_error")
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).chat == typed()
        edits = service.prune.Prune(pb.PruneRequest(chat=typed(), reply_form=pb.REPLY_FORM_EDITS))
        assert (edits.WhichOneof("conversation"), edits.unchanged_reason) == (None, "internal_error")
        assert [line["code"] for line in service.log] == ["OK"] * 3
    assert kept.decisions == []


def test_a_frame_is_bounded_however_long_the_last_user_text_is() -> None:
    """The message of a frame ends at 20,000 characters, and `framed` holds only it and the context."""
    said = messages()
    said[-1]["content"] = "now? " * 10_000
    with running() as service:
        reply = service.prune.Prune(
            pb.PruneRequest(body=pb.RequestBody(json=body(said)), reply_form=pb.REPLY_FORM_EDITS)
        )
    assert len(reply.turn_frame.message) == MESSAGE_CHARS == 20_000
    assert len(reply.turn_frame.framed) < MESSAGE_CHARS + 250


def test_the_longest_request_that_is_taken_is_also_given_back() -> None:
    """A full reply to a request that just fits holds a little more than it, and is sent all the same."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "x" * (MIB - 100)}]
    sent = json.dumps({"messages": said}).encode()
    with running(max_message_bytes=len(sent) + 20) as service:
        reply = service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(json=sent)))
    assert reply.body.json == sent


@pytest.mark.parametrize(
    ("globs", "problem"),
    [
        (["x"] * 257, "257 globs are too many; give 256 or fewer"),
        (["x", "y" * 201], "a glob of 201 characters is too long; give 200 or fewer"),
        ([" "] * 256, "a glob is blank; give a tool name or a pattern such as memory_*"),
    ],
)
def test_globs_are_bounded(globs: list[str], problem: str) -> None:
    """More than 256 globs, or one longer than 200 characters, are the caller's fault, told in few words."""
    limits = pb.Limits(protected_tools=pb.ToolGlobs(globs=globs))
    with running() as service, pytest.raises(grpc.RpcError) as caught:
        service.prune.Prune(pb.PruneRequest(chat=typed(), limits=limits))
    assert refusal(caught.value).violations == {"limits.protected_tools": problem}


def test_globs_at_their_bounds_are_taken() -> None:
    """256 globs of 200 characters are legal."""
    limits = pb.Limits(protected_tools=pb.ToolGlobs(globs=["y" * 200] * 256))
    with running() as service:
        assert service.prune.Prune(pb.PruneRequest(chat=typed(), limits=limits)).persisted


def test_a_call_that_nobody_waits_for_is_not_worked_on() -> None:
    """A call whose deadline passed while it waited for a thread is dropped before its work begins."""
    entered, go_on = threading.Semaphore(0), threading.Event()

    class Slow(Kept):
        def record(self, decision: Decision) -> bool:
            entered.release()
            return go_on.wait(30) and super().record(decision)

    kept = Slow()
    with running(recorder=kept) as service:
        busy = [service.prune.Prune.future(pb.PruneRequest(chat=typed())) for _ in range(8)]
        assert all(entered.acquire(timeout=30) for _ in busy)
        with pytest.raises(grpc.RpcError) as caught:
            service.prune.Prune(pb.PruneRequest(chat=typed()), timeout=0.2)
        go_on.set()
        assert all(call.result().persisted for call in busy)
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).persisted
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert len(kept.decisions) == len(busy) + 1
    assert [line["code"] for line in service.log].count("OK") == len(busy) + 1


def test_a_thread_that_cannot_be_cut_short_is_told_after_the_drain() -> None:
    """A drained server says whether a call still holds a thread; an idle one's threads have all ended."""
    entered, go_on = threading.Event(), threading.Event()

    class Stuck(Kept):
        def record(self, decision: Decision) -> bool:
            entered.set()
            return go_on.wait(30) and super().record(decision)

    with running() as service:
        service.prune.Prune(pb.PruneRequest(chat=typed()))
        service.server.drain(0)
        assert service.server.is_idle
    with running(recorder=Stuck()) as service:
        pending = service.prune.Prune.future(pb.PruneRequest(chat=typed()))
        assert entered.wait(30)
        service.server.drain(0)
        assert not service.server.is_idle
        go_on.set()
        assert pending.exception() is not None
