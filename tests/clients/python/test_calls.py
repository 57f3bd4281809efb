"""What a call sends and what it gives back when all is well, for both clients."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from typing import Any

import grpc
import pytest

import pinch
from pinch import (
    ChatMessage,
    ContentPart,
    Edit,
    ExtractionDecision,
    Format,
    Limits,
    Outcome,
    RequestContext,
    TokenUsage,
    ToolGlobs,
)
from pinch.v1.prune_pb2 import PruneRequest, PruneResponse, ReplyForm
from tests.clients.python.scripted import ScriptedServer, reply, reported, trims, within_budget

BODY = b'{ "n": 1.0, "messages": [{"role":"tool","content":"old \\u00e9 text"}], "x":12345678901234567890 }'
OLD, NEW = b'"old \\u00e9 text"', b'"[t: result omitted]"'

Run = Callable[..., Any]


def test_bytes_come_back_with_only_the_edit_changed(server: ScriptedServer, run: Run) -> None:
    """C6: of a body in bytes every byte outside the edits is the same."""
    server.answer(trims(OLD, NEW))
    result = run(server.address, lambda client: client.prune_openai(BODY))
    assert result.body == BODY.replace(OLD, NEW)
    assert result.pruned
    assert result.reason is result.error is None
    assert result.stats.tokens_saved == 40
    assert result.first_changed_message == 2
    assert result.decision_id == "01890000-0000-7000-8000-000000000001"
    assert result.persisted
    assert [edit.replacement for edit in result.edits] == [NEW]


def test_a_dict_comes_back_as_a_dict_and_is_never_changed(server: ScriptedServer, run: Run) -> None:
    """C8, C9: a dict gives a new dict; the caller's is as it was, deeply."""
    body = {"messages": [{"role": "tool", "content": "old é text"}], "x": 12345678901234567890, "n": 1.0}
    before = copy.deepcopy(body)
    server.answer(trims('"old é text"'.encode(), b'"new"'))
    result = run(server.address, lambda client: client.prune_anthropic(body))
    assert body == before
    assert result.body == {**before, "messages": [{"role": "tool", "content": "new"}]}
    assert json.dumps(result.body["n"]) == "1.0"


@pytest.mark.parametrize("body", [BODY, {"messages": []}], ids=["bytes", "dict"])
def test_nothing_changed_gives_back_the_same_object(body: Any, server: ScriptedServer, run: Run) -> None:
    """Without edits the result holds the caller's own object and the server's reason."""
    server.answer(within_budget)
    result = run(server.address, lambda client: client.prune_body(body))
    assert result.body is body
    assert not result.pruned
    assert result.reason == "within_budget"
    assert result.error is None
    assert result.decision_id == "d"


def test_typed_messages_are_edited_in_a_copy(server: ScriptedServer, run: Run) -> None:
    """C8: edited messages are copies, untouched ones are the caller's own."""
    messages = [
        ChatMessage(role="user", content=[ContentPart(text="hello")]),
        ChatMessage(role="tool", tool_call_id="c", content=[ContentPart(text="old"), ContentPart(text="b")]),
    ]
    before = [message.SerializeToString() for message in messages]
    edit = Edit(
        message_index=1,
        part_index=0,
        replaced_sha256=sha256(b"old").digest(),
        replacement_part=ContentPart(text="new"),
    )
    server.answer(reply(PruneResponse(edits=[edit])))
    result = run(server.address, lambda client: client.prune_chat(messages))
    assert [message.SerializeToString() for message in messages] == before
    assert result.body[0] is messages[0]
    assert [part.text for part in result.body[1].content] == ["new", "b"]
    assert result.body[1].tool_call_id == "c"


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("prune_openai", Format.FORMAT_OPENAI_CHAT),
        ("prune_anthropic", Format.FORMAT_ANTHROPIC_MESSAGES),
        ("prune_body", Format.FORMAT_UNSPECIFIED),
    ],
)
def test_each_method_names_its_format(method: str, expected: int, server: ScriptedServer, run: Run) -> None:
    """The helpers name their dialect, and every body is sent as it is, asking for edits only."""
    server.answer(within_budget)
    run(server.address, lambda client: getattr(client, method)(BODY))
    (call,) = server.calls
    assert call.request.body.format == expected
    assert call.request.body.json == BODY
    assert call.request.reply_form == ReplyForm.REPLY_FORM_EDITS


def test_options_reach_the_server(server: ScriptedServer, run: Run) -> None:
    """Limits, context, dry run and format arrive as they were given; absent limits stay absent."""
    server.answer(within_budget)
    limits = Limits(budget_tokens=9, protected_max_chars=0, protected_tools=ToolGlobs())
    context = RequestContext(request_id="r", session_id="s")
    run(
        server.address,
        lambda client: client.prune_body(
            BODY, Format.FORMAT_GEMINI, limits=limits, context=context, dry_run=True
        ),
    )
    request: PruneRequest = server.calls[0].request
    assert (request.limits, request.context, request.dry_run) == (limits, context, True)
    assert request.body.format == Format.FORMAT_GEMINI
    assert request.limits.HasField("protected_tools")
    assert not request.limits.HasField("keep_last_turns")


def test_what_became_of_each_result_is_told(server: ScriptedServer, run: Run) -> None:
    """C9: what extraction decided about each result comes through as the server told it, in order."""
    told = (ExtractionDecision(gate="allowed"), ExtractionDecision(gate="economic_gate", reason="why"))
    server.answer(lambda _, __: PruneResponse(unchanged_reason="within_budget", extractions=told))
    result = run(server.address, lambda client: client.prune_openai(BODY))
    assert result.extractions == told


def test_an_unknown_option_is_an_error_of_the_caller(server: ScriptedServer, run: Run) -> None:
    """A misspelt keyword is a TypeError, fail-open or not: it would else be ignored for ever."""
    with pytest.raises(TypeError, match="limit"):
        run(server.address, lambda client: client.prune_openai(BODY, limit=Limits()))


def test_every_call_has_a_deadline_and_a_version(server: ScriptedServer, run: Run) -> None:
    """C2, C10: without a word from the caller a call has 2 seconds, and names the client's version."""
    server.answer(within_budget)
    run(server.address, lambda client: client.prune_openai(BODY))
    (call,) = server.calls
    assert 0 < call.time_remaining < 3  # gRPC rounds a deadline up on its way
    assert call.metadata["pinch-client"] == f"python/{pinch.__version__}"
    assert call.metadata["user-agent"].startswith("pinch-python/")
    assert "authorization" not in call.metadata


def test_a_token_is_sent_as_bearer(server: ScriptedServer, run: Run) -> None:
    """C7: the token travels with every call."""
    server.answer(within_budget)
    run(server.address, lambda client: client.prune_openai(BODY), token="s3cret")
    assert server.calls[0].metadata["authorization"] == "Bearer s3cret"


def test_further_metadata_are_sent(server: ScriptedServer, run: Run) -> None:
    """C10: what the caller gives once goes with every call, beside the client's own."""
    server.answer(within_budget)
    run(server.address, lambda client: client.prune_openai(BODY), metadata={"x-tenant": "blue"})
    metadata = server.calls[0].metadata
    assert (metadata["x-tenant"], metadata["pinch-client"]) == ("blue", f"python/{pinch.__version__}")


def test_sixteen_megabytes_go_both_ways(server: ScriptedServer, run: Run) -> None:
    """C4: messages far over gRPC's own limit of 4 MiB travel both ways."""
    old = b'"' + b"o" * (16 << 20) + b'"'
    new = b'"' + b"n" * (16 << 20) + b'"'
    server.answer(trims(old, new))
    result = run(server.address, lambda client: client.prune_openai(b"[" + old + b"]"), timeout=60)
    assert result.error is None
    assert result.body == b"[" + new + b"]"


def test_a_body_over_the_limit_fails_open(server: ScriptedServer, run: Run) -> None:
    """C4: a body over 64 MiB comes back as it is and does not travel."""
    server.answer(within_budget)
    body = b" " * (pinch.MESSAGE_LIMIT_BYTES + 1)
    result = run(server.address, lambda client: client.prune_openai(body), timeout=60)
    assert result.body is body
    assert result.error.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not server.calls


def test_an_outcome_is_reported(server: ScriptedServer, run: Run) -> None:
    """C9: a report carries decision, outcome, model, usage and cost; a Decimal never as an exponent."""
    server.answer(reported)
    usage = TokenUsage(prompt_tokens=10, cached_tokens=0)
    held = run(
        server.address,
        lambda client: client.report_outcome(
            "d",
            Outcome.OUTCOME_DISPATCHED,
            selected_model="m",
            usage=usage,
            cost_usd=Decimal("0.0000001"),
        ),
    )
    assert held is True
    request = server.calls[0].request
    assert (request.decision_id, request.outcome) == ("d", Outcome.OUTCOME_DISPATCHED)
    assert (request.selected_model, request.cost_usd) == ("m", "0.0000001")
    assert request.usage.HasField("cached_tokens")
    assert not request.usage.HasField("completion_tokens")
