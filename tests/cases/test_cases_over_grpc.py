"""Every reported fault over gRPC: both reply forms, and as typed messages where the case can be said so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.limits import Limits
from tests.cases.cases import Case, expectation_violations, load_cases
from tests.checker.check import apply, check, check_edits
from tests.rpc.service import Service, running

CASES = load_cases()
FORMATS = {
    "openai-chat": pb.FORMAT_OPENAI_CHAT,
    "anthropic": pb.FORMAT_ANTHROPIC_MESSAGES,
    "openai-responses": pb.FORMAT_OPENAI_RESPONSES,
    "gemini": pb.FORMAT_GEMINI,
    "bedrock": pb.FORMAT_BEDROCK_CONVERSE,
}
pytestmark = pytest.mark.skipif(not CASES, reason="the folder shared/cases does not lie beside the project")
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service under the shipped limits."""
    with running(limits=Limits()) as started:
        yield started


def limits_of(case: Case) -> pb.Limits:
    """A case's limits on the wire."""
    limits = pb.Limits()
    for name, value in case.limits.items():
        if name == "protected_tools":
            limits.protected_tools.globs.extend(value)
        else:
            setattr(limits, name, value)
    return limits


def asked(service: Service, case: Case, form: pb.ReplyForm) -> pb.PruneResponse:
    """The reply to a case's body."""
    body = pb.RequestBody(format=FORMATS[case.format], json=case.body)
    return service.prune.Prune(pb.PruneRequest(body=body, limits=limits_of(case), reply_form=form))


def stats_of(reply: pb.PruneResponse) -> dict[str, Any]:
    """The stats as a case expects them, every field there."""
    return MessageToDict(
        reply.stats, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


@each_case
def test_case_in_both_reply_forms(service: Service, case: Case) -> None:
    """The whole body and the edits applied are the same bytes, and meet the expectation and the checker."""
    full = asked(service, case, pb.REPLY_FORM_FULL)
    edits = asked(service, case, pb.REPLY_FORM_EDITS)
    ranges = [
        {
            "offset": edit.offset,
            "length": edit.length,
            "replacement": edit.replacement,
            "sha256": edit.replaced_sha256,
        }
        for edit in edits.edits
    ]
    assert check_edits(case.body, ranges) == []
    assert apply(case.body, ranges) == full.body.json
    assert edits.WhichOneof("conversation") is None
    assert expectation_violations(case, case.body, full.body.json, stats_of(full)) == []
    assert check(case.format, case.body, full.body.json, limits=case.limits) == []


def typed(body: bytes) -> pb.ChatMessages | None:
    """A chat body as typed messages; None where a message has what these cannot say."""
    chat = pb.ChatMessages()
    for said in json.loads(body)["messages"]:
        content, calls = said.get("content"), said.get("tool_calls", [])
        if not isinstance(content, str | None) or said["role"] == "function":
            return None
        message = chat.messages.add(role=said["role"], tool_call_id=said.get("tool_call_id", ""))
        try:
            if content is not None:
                message.content.add(text=content)
        except UnicodeEncodeError:
            return None
        for call in calls:
            function: Mapping[str, str] = call["function"]
            message.tool_calls.add(id=call["id"], name=function["name"], arguments=function["arguments"])
    return chat


TYPED = [case for case in CASES if case.format == "openai-chat" and typed(case.body) is not None]


@pytest.mark.parametrize("case", TYPED, ids=lambda case: case.id)
def test_case_as_typed_messages(service: Service, case: Case) -> None:
    """The same messages are trimmed to the same texts, and the same sizes are told."""
    chat = typed(case.body)
    assert chat is not None
    body = asked(service, case, pb.REPLY_FORM_FULL)
    limits = limits_of(case)
    # Typed messages have no tool definitions of their own: what the body's cost is said beside them.
    tools = json.loads(case.body).get("tools")
    limits.extra_fixed_tokens = len(json.dumps(tools)) // 3 if tools else 0
    reply = service.prune.Prune(pb.PruneRequest(chat=chat, limits=limits))
    texts = [message.content[0].text if message.content else None for message in reply.chat.messages]
    assert texts == [said.get("content") for said in json.loads(body.body.json)["messages"]]
    assert stats_of(reply) == stats_of(body)
