"""Envoy's stream, called step by step as Envoy would not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import Chars3
from pinch_server.core.decision import Outcome
from pinch_server.decide import STORED_CHARS, Decider, Lanes, Policy
from pinch_server.gateways.envoy.exchange import Around, Exchange
from pinch_server.gateways.envoy.v1 import external_processor_pb2 as pb
from pinch_server.gateways.in_time import InTime
from tests.formats.test_spoken import ANTHROPIC, CHAT
from tests.plugged.conversations import ROUTES, conversation
from tests.rpc.conversations import body
from tests.rpc.service import SMALL, Kept
from tests.test_decide import Watched

POST = ((":method", "POST"), (":path", "/v1/chat/completions"))


def headers(*pairs: tuple[str, str], ends: bool = False) -> pb.HttpHeaders:
    values = [pb.HeaderValue(key=name, raw_value=text.encode()) for name, text in pairs]
    return pb.HttpHeaders(headers=pb.HeaderMap(headers=values), end_of_stream=ends)


def asked(*more: tuple[str, str], ends: bool = False) -> pb.ProcessingRequest:
    return pb.ProcessingRequest(request_headers=headers(*POST, *more, ends=ends))


def sent(text: bytes, *, ends: bool = True) -> pb.ProcessingRequest:
    return pb.ProcessingRequest(request_body=pb.HttpBody(body=text, end_of_stream=ends))


def answered(status: str, kind: str = "application/json", *, ends: bool = False) -> pb.ProcessingRequest:
    said = headers((":status", status), ("content-type", kind), ends=ends)
    return pb.ProcessingRequest(response_headers=said)


def came(text: bytes, *, ends: bool = True) -> pb.ProcessingRequest:
    return pb.ProcessingRequest(response_body=pb.HttpBody(body=text, end_of_stream=ends))


@dataclass
class Reports:
    """Keeps reports, or fails."""

    fails: bool = False
    kept: list[Outcome] = field(default_factory=list)

    def __call__(self, outcome: Outcome) -> bool:
        if self.fails:
            raise OSError("no space left on device")
        self.kept.append(outcome)
        return True


@contextmanager
def begun(reports: Reports) -> Iterator[Callable[[], Exchange]]:
    clock = SystemClock()
    policy = Policy(SMALL, True, "fingerprint", b"key")
    decider = Decider(policy, Chars3(), Kept(), Watched(), clock, Uuid7Ids())
    in_time = InTime(decider, Lanes(clock), clock, 2, 8)
    try:
        yield lambda: Exchange(Around(in_time, 30.0, reports, clock), lambda *_facts: None)
    finally:
        in_time.close(30)


SILENT = ((":method", "POST"), (":path", "/llm/invoke"))
AS_JSON = ("content-type", "application/json; charset=utf-8")

STEPS = (
    asked(),
    pb.ProcessingRequest(request_headers=headers(*SILENT, AS_JSON)),
    asked(ends=True),
    asked(("x-pinch-bypass", "1")),
    asked(("x-pinch-format", "bedrock")),
    asked(("x-pinch-budget-tokens", "nonsense")),
    pb.ProcessingRequest(request_headers=headers()),
    sent(body()),
    sent(body(), ends=False),
    sent(b"\xff"),
    pb.ProcessingRequest(request_trailers=pb.HttpTrailers()),
    answered("200"),
    answered("200", "text/event-stream"),
    answered("1" * 5_000, ends=True),
    answered("\u00b2", ends=True),
    came(b"[" * 100_000),
    came(b'{"usage": {"prompt_tokens": 9}}', ends=False),
    pb.ProcessingRequest(response_trailers=pb.HttpTrailers()),
    pb.ProcessingRequest(),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=8), st.booleans())
def test_every_order_of_steps_is_answered_in_kind(steps: list[pb.ProcessingRequest], fails: bool) -> None:
    """Whatever comes in any order, each step has the answer of its kind, and one body changes at most."""
    with begun(Reports(fails)) as begin:
        exchange = begin()
        changed = 0
        for step in steps:
            answer = exchange.answer(step)
            kind = step.WhichOneof("request") or "response_trailers"
            assert answer.WhichOneof("response") == kind
            changed += answer.request_body.response.HasField("body_mutation")
        exchange.ended()
        assert changed <= 1


def test_a_report_that_fails_hurts_no_answer() -> None:
    """When nothing can be kept, the provider's answer still passes with the decision's id."""
    with begun(Reports(fails=True)) as begin:
        exchange = begin()
        exchange.answer(asked())
        assert exchange.answer(sent(body())).request_body.response.HasField("body_mutation")
        told = exchange.answer(answered("200", ends=True)).response_headers.response.header_mutation
        assert "x-pinch-decision-id" in [one.header.key for one in told.set_headers]
        exchange.ended()


@pytest.mark.parametrize(
    ("status", "outcome"), [("200", "DISPATCHED"), ("503", "FAILED"), ("2" * 9, "FAILED")]
)
def test_a_status_says_what_became_of_it(status: str, outcome: str) -> None:
    """Three digits are a status, and 2xx alone is a success; anything else is none."""
    reports = Reports()
    with begun(reports) as begin:
        exchange = begin()
        for step in (asked(), sent(body()), answered(status, ends=True)):
            exchange.answer(step)
        exchange.ended()
    assert [one.outcome for one in reports.kept] == [outcome]


def test_a_provider_names_its_model_in_few_words() -> None:
    """A name that a provider gives is cut as one that a caller gives."""
    reports = Reports()
    said = json.dumps({"model": "m" * 1_000_000, "usage": {"prompt_tokens": 9}}).encode()
    with begun(reports) as begin:
        exchange = begin()
        for step in (asked(), sent(body()), answered("200"), came(said)):
            exchange.answer(step)
    (report,) = reports.kept
    assert (report.model, report.prompt_tokens) == ("m" * STORED_CHARS, 9)


def reason(exchange: Exchange) -> str:
    """Why nothing changed, as the answer's headers tell it; empty when something did."""
    told = exchange.answer(answered("200")).response_headers.response.header_mutation.set_headers
    return {one.header.key: one.header.raw_value.decode() for one in told}.get("x-pinch-unchanged-reason", "")


@pytest.mark.parametrize("route", ROUTES)
def test_a_body_tells_its_dialect_where_the_path_does_not(route: str) -> None:
    """On a path of the operator's own, a request is pruned as on the provider's, its counts reported."""
    reports = Reports()
    body = conversation(route)
    with begun(reports) as begin:
        edited = []
        for path in (route, "/llm/invoke"):
            exchange = begin()
            post = headers((":method", "POST"), (":path", path), AS_JSON, ("x-pinch-session-id", path))
            reply = exchange.answer(pb.ProcessingRequest(request_headers=post))
            assert not reply.HasField("mode_override")
            edited.append(exchange.answer(sent(body)).request_body.response.body_mutation.body)
            assert exchange.answer(answered("200")).WhichOneof("response") == "response_headers"
            exchange.answer(came(b'{"usage": {"prompt_tokens": 9, "input_tokens": 9}}'))
    assert edited[0] == edited[1]
    assert 0 < len(edited[0]) < len(body)
    assert [one.prompt_tokens for one in reports.kept] == [9, 9]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"model": "m", "messages": [CHAT, ANTHROPIC]}, "ambiguous_format"),
        ({"messages": [CHAT]}, "no_request"),
        ({"model": "m", "messages": [{"role": "user", "content": "hi"}]}, "nothing_to_trim"),
        ({"model": "m", "prompt": "hi"}, "no_conversation"),
    ],
)
def test_a_body_that_does_not_tell_is_left_with_a_reason(body: object, expected: str) -> None:
    """What cannot be told is not guessed: nothing changes, nothing is decided, and the answer says why."""
    with begun(Reports()) as begin:
        exchange = begin()
        exchange.answer(pb.ProcessingRequest(request_headers=headers(*SILENT, AS_JSON)))
        assert not exchange.answer(sent(json.dumps(body).encode())).request_body.HasField("response")
        assert reason(exchange) == expected


@pytest.mark.parametrize(
    "said",
    [
        headers(*SILENT),
        headers(*SILENT, ("content-type", "multipart/form-data")),
        headers(*SILENT, AS_JSON, ("content-encoding", "gzip")),
        headers((":method", "POST"), (":path", "/v1/embeddings"), AS_JSON),
        headers((":method", "GET"), (":path", "/llm/invoke"), AS_JSON),
    ],
)
def test_what_cannot_be_a_request_is_not_held(said: pb.HttpHeaders) -> None:
    """Of what is no JSON, packed, or posted where no model answers, Envoy is told to send no body."""
    with begun(Reports()) as begin:
        exchange = begin()
        reply = exchange.answer(pb.ProcessingRequest(request_headers=said))
        assert reply.HasField("mode_override")
        assert reply.mode_override.request_body_mode == pb.BODY_SEND_MODE_UNSPECIFIED
