"""C1: whatever server or network do, the caller gets its own conversation back, or a strict error."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from pinch import (
    AsyncPinchClient,
    CallError,
    ChatMessage,
    ContentPart,
    Edit,
    Outcome,
    PinchClient,
    ReplyError,
    RequestError,
)
from pinch.v1.prune_pb2 import PruneResponse
from tests.clients.python.scripted import ScriptedServer, byte_edit, reply, status, trims, within_budget

BODY = b'{"messages": [{"role":"tool","content":"old text"},{"role":"user","content":"another"}]}'
SHORT = 0.2
FAILURES = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]

Run = Callable[..., Any]


def edit(old: bytes = b'"old text"', new: bytes = b'"new"', **changes: Any) -> Edit:
    made = byte_edit(BODY, old, new)
    made.MergeFrom(Edit(**changes))
    return made


HOSTILE_EDITS = {
    "wrong hash": [edit(replaced_sha256=b"\0" * 32)],
    "no hash": [Edit(offset=3, length=4, replacement=b"x")],
    "negative offset": [edit(offset=-1)],
    "negative length": [edit(length=-1)],
    "past the end": [edit(length=10_000)],
    "far past the end": [edit(offset=2**62, length=2**62)],
    "descending": [edit(b'"another"'), edit()],
    "twice the same": [edit(), edit()],
    "overlapping": [edit(), edit(b'text"},')],
    "second one wrong": [edit(), edit(b'"another"', replaced_sha256=b"\1" * 32)],
}


@pytest.mark.parametrize("code", FAILURES, ids=lambda code: code.name)
def test_any_status_but_ok_returns_the_callers_body(
    code: grpc.StatusCode, server: ScriptedServer, run: Run
) -> None:
    """C1: a status other than OK gives back the very body that came in, and its slug as the reason."""
    server.answer(status(code, "words of the server"))
    result = run(server.address, lambda client: client.prune_openai(BODY))
    assert result.body is BODY
    assert not result.pruned
    assert result.reason == code.name.lower()
    assert str(result.error) == f"{code.name}: words of the server"
    assert isinstance(result.error, CallError)
    assert result.error.code is code
    assert result.stats is result.measured is result.turn_frame is None
    assert (result.decision_id, result.persisted, result.edits) == ("", False, ())


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.INVALID_ARGUMENT])
def test_strict_raises_the_status(code: grpc.StatusCode, server: ScriptedServer, run: Run) -> None:
    """A strict client raises CallError with the status and the server's words."""
    server.answer(status(code, "why"))
    with pytest.raises(CallError, match="why") as caught:
        run(server.address, lambda client: client.prune_openai(BODY), strict=True)
    assert caught.value.code is code


@pytest.mark.parametrize("edits", HOSTILE_EDITS.values(), ids=HOSTILE_EDITS)
def test_hostile_edits_are_refused_whole(edits: list[Edit], server: ScriptedServer, run: Run) -> None:
    """Edits that do not fit are refused, and none of the reply is used, not even its right edits."""
    server.answer(reply(PruneResponse(edits=edits, decision_id="d")))
    result = run(server.address, lambda client: client.prune_openai(BODY))
    assert result.body is BODY
    assert not result.pruned
    assert isinstance(result.error, ReplyError)
    with pytest.raises(ReplyError):
        run(server.address, lambda client: client.prune_openai(BODY), strict=True)


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff", b"\x1a\x7f"], ids=["noise", "truncated"])
def test_an_undecodable_reply_fails_open(garbage: bytes, server: ScriptedServer, run: Run) -> None:
    """C1: a reply that is no PruneResponse gives back the caller's body."""
    server.answer(reply(garbage))
    result = run(server.address, lambda client: client.prune_openai(BODY))
    assert result.body is BODY
    assert result.reason == "invalid_reply"
    with pytest.raises(ReplyError):
        run(server.address, lambda client: client.prune_openai(BODY), strict=True)


def test_a_hung_server_costs_the_deadline_and_no_more(server: ScriptedServer, run: Run) -> None:
    """A server that never answers gives DEADLINE_EXCEEDED, after one attempt."""
    server.answer(server.hang)
    result = run(server.address, lambda client: client.prune_openai(BODY), timeout=SHORT)
    assert result.body is BODY
    assert result.error.code is grpc.StatusCode.DEADLINE_EXCEEDED
    assert len(server.calls) == 1


def test_a_call_may_shorten_its_own_deadline(server: ScriptedServer, run: Run) -> None:
    """The timeout of one call overrides the client's."""
    server.answer(server.hang)
    result = run(server.address, lambda client: client.prune_openai(BODY, timeout=SHORT), timeout=600)
    assert result.error.code is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("timeout", [0, -1])
def test_no_time_left_fails_open(timeout: float, server: ScriptedServer, run: Run) -> None:
    """A call whose caller has no time left is not an error of the caller."""
    server.answer(within_budget)
    result = run(server.address, lambda client: client.prune_openai(BODY, timeout=timeout))
    assert result.error.code is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("timeout", [float("inf"), float("nan")])
def test_a_timeout_without_an_end_is_the_callers_error(
    timeout: float, server: ScriptedServer, run: Run
) -> None:
    """A call that could wait for ever is refused where it is made, with the name of the argument."""
    with pytest.raises(ValueError, match="timeout"):
        run(server.address, lambda client: client.prune_openai(BODY, timeout=timeout))


def test_a_reason_of_any_length_is_one_short_line(server: ScriptedServer, run: Run) -> None:
    """The server's reason is cut like all its words: it is meant for one log line."""
    server.answer(reply(PruneResponse(unchanged_reason="line\n" * 1_000_000)))
    result = run(server.address, lambda client: client.prune_openai(BODY))
    assert len(result.reason) <= 300
    assert "\n" not in result.reason


def test_nobody_listening_fails_open(run: Run) -> None:
    """An address where nobody listens gives UNAVAILABLE."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run(address, lambda client: client.prune_openai(BODY))
    assert result.body is BODY
    assert result.error.code is grpc.StatusCode.UNAVAILABLE


def test_a_peer_that_speaks_no_grpc_fails_open(run: Run) -> None:
    """A peer that accepts and says nothing costs the deadline, not an exception."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        result = run(address, lambda client: client.prune_openai(BODY), timeout=SHORT)
    assert result.body is BODY
    assert result.error.code in {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}


def test_unavailable_is_retried_once(server: ScriptedServer, run: Run) -> None:
    """C3: after one UNAVAILABLE the second attempt's reply is used."""
    server.answer(status(grpc.StatusCode.UNAVAILABLE, "draining"), trims(b'"old text"', b'"new"'))
    result = run(server.address, lambda client: client.prune_openai(BODY))
    assert result.pruned
    assert len(server.calls) == 2


def test_unavailable_twice_is_the_end(server: ScriptedServer, run: Run) -> None:
    """C3: there is no third attempt."""
    server.answer(status(grpc.StatusCode.UNAVAILABLE, "draining"))
    result = run(server.address, lambda client: client.prune_openai(BODY))
    assert result.error.code is grpc.StatusCode.UNAVAILABLE
    assert len(server.calls) == 2


@pytest.mark.parametrize("code", [c for c in FAILURES if c is not grpc.StatusCode.UNAVAILABLE])
def test_nothing_else_is_retried(code: grpc.StatusCode, server: ScriptedServer, run: Run) -> None:
    """C3: any other status ends the call at once."""
    server.answer(status(code))
    run(server.address, lambda client: client.prune_openai(BODY))
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "body",
    [{"messages": [object()]}, {"n": float("nan")}, {"n": float("inf")}, {("tuple",): 1}],
    ids=["object", "nan", "infinity", "tuple key"],
)
def test_a_dict_that_is_no_json_is_not_sent(body: Any, server: ScriptedServer, run: Run) -> None:
    """A dict that cannot be JSON comes back as it is, and the server is not asked."""
    server.answer(within_budget)
    result = run(server.address, lambda client: client.prune_openai(body))
    assert result.body is body
    assert isinstance(result.error, RequestError)
    assert not server.calls


def test_a_dict_that_holds_itself_is_not_sent(server: ScriptedServer, run: Run) -> None:
    """A circular dict comes back as it is."""
    body: dict[str, Any] = {"messages": []}
    body["messages"].append(body)
    result = run(server.address, lambda client: client.prune_openai(body))
    assert result.body is body
    assert isinstance(result.error, RequestError)


def test_edits_that_break_the_json_are_refused_for_a_dict(server: ScriptedServer, run: Run) -> None:
    """A dict is only ever replaced by what is again a JSON object."""
    body = {"messages": [{"role": "tool", "content": "old text"}]}
    server.answer(trims(b'"old text"', b'"unclosed'))
    result = run(server.address, lambda client: client.prune_openai(body))
    assert result.body is body
    assert isinstance(result.error, ReplyError)


def test_a_dry_run_with_edits_is_refused(server: ScriptedServer, run: Run) -> None:
    """A dry run changes nothing, also when the server forgets that it was one."""
    server.answer(trims(b'"old text"', b'"new"'))
    result = run(server.address, lambda client: client.prune_openai(BODY, dry_run=True))
    assert result.body is BODY
    assert isinstance(result.error, ReplyError)


def test_typed_messages_fail_open_too(server: ScriptedServer, run: Run) -> None:
    """A refused reply gives back the caller's own list of messages."""
    messages = [ChatMessage(role="tool", content=[ContentPart(text="old")])]
    server.answer(reply(PruneResponse(edits=[Edit(message_index=0, part_index=7)])))
    result = run(server.address, lambda client: client.prune_chat(messages))
    assert result.body is messages
    assert isinstance(result.error, ReplyError)


def test_a_failed_report_is_false(server: ScriptedServer, run: Run) -> None:
    """A report that fails is False, or an error for a strict client."""
    server.answer(status(grpc.StatusCode.INTERNAL))
    outcome = Outcome.OUTCOME_DISPATCHED
    assert run(server.address, lambda client: client.report_outcome("d", outcome)) is False
    with pytest.raises(CallError):
        run(server.address, lambda client: client.report_outcome("d", outcome), strict=True)


def test_no_decision_is_nothing_to_report(server: ScriptedServer, run: Run) -> None:
    """The empty decision id of a failed call can be reported without a question: nothing is sent."""
    outcome = Outcome.OUTCOME_FAILED
    assert run(server.address, lambda client: client.report_outcome("", outcome)) is False
    assert not server.calls


def test_a_closed_client_fails_open(server: ScriptedServer) -> None:
    """A call after close gives back the caller's body."""
    client = PinchClient(server.address)
    client.close()
    result = client.prune_openai(BODY)
    assert result.body is BODY
    assert result.error.code is grpc.StatusCode.CANCELLED


async def test_a_closed_async_client_fails_open(server: ScriptedServer) -> None:
    """A call after close gives back the caller's body, whether or not the channel was ever opened."""
    server.answer(within_budget)
    for calls_before in (0, 1):
        client = AsyncPinchClient(server.address)
        for _ in range(calls_before):
            assert (await client.prune_openai(BODY)).error is None
        await client.close()
        result = await client.prune_openai(BODY)
        assert result.body is BODY
        assert result.error.code is grpc.StatusCode.CANCELLED


async def test_closing_fails_open_the_calls_in_flight(server: ScriptedServer) -> None:
    """Closing an async client ends its calls with the caller's body, not with a cancelled task."""
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def step(request: Any, context: grpc.ServicerContext) -> PruneResponse:
        loop.call_soon_threadsafe(arrived.set)
        return server.hang(request, context)

    server.answer(step)
    client = AsyncPinchClient(server.address, timeout=600)
    call = asyncio.create_task(client.prune_openai(BODY))
    await arrived.wait()
    await client.close()
    assert (await call).body is BODY


async def test_cancelling_the_task_cancels_the_call(server: ScriptedServer) -> None:
    """A caller that cancels its task gets its cancellation, not a result."""
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def step(request: Any, context: grpc.ServicerContext) -> PruneResponse:
        loop.call_soon_threadsafe(arrived.set)
        return server.hang(request, context)

    server.answer(step)
    async with AsyncPinchClient(server.address, timeout=600) as client:
        call = asyncio.create_task(client.prune_openai(BODY))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
