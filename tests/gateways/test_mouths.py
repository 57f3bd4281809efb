"""The HTTP endpoints that gateways call, over real sockets."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import socket
import threading
from contextlib import ExitStack
from typing import Any

import pytest

from tests.gateways.ports import Held, Port, Stuck, opened
from tests.rpc.conversations import body, messages

JSON = {"Content-Type": "application/json"}
GUARDRAIL = "/beta/litellm_basic_guardrail_api"


def guarded(rows: list[dict[str, Any]], **more: Any) -> bytes:
    sent = {
        "input_type": "request",
        "structured_messages": rows,
        "texts": [],
        "request_data": {},
        "model": "gpt-4o",
        "litellm_call_id": "call-1",
        "litellm_trace_id": "trace-1",
    }
    return json.dumps(sent | more).encode()


def hooked(inner: bytes, kind: str = "chatComplete") -> bytes:
    return (
        b'{"request":{"json":'
        + inner
        + b',"text":"x"},"response":{"json":{},"text":"","statusCode":null},'
        + f'"provider":"openai","requestType":"{kind}","metadata":{{"session_id":"s-1"}},'.encode()
        + b'"eventType":"beforeRequestHook"}'
    )


def asked_to_prune(**more: Any) -> bytes:
    return json.dumps({"body": {"json": base64.b64encode(body()).decode()}, **more}).encode()


UNCHANGED = {
    "/compact": body(),
    GUARDRAIL: guarded(messages()),
    "/v1/compress": json.dumps({"messages": messages()}).encode(),
    "/hooks/portkey": hooked(body()),
    "/v1/prune": asked_to_prune(),
}
"""For each mouth a request with something to trim."""


def is_unchanged(path: str, reply: Any) -> bool:
    """Whether a gateway goes on with what it has after this reply."""
    if path == "/compact":
        return bool(reply.status == 204 and not reply.body)
    if reply.status != 200:
        return False
    if path == GUARDRAIL:
        return bool(reply.json == {"action": "NONE"})
    if path == "/hooks/portkey":
        return bool(reply.json == {"verdict": True})
    if path == "/v1/compress":
        return bool(reply.json["messages"] == messages() and reply.json["tokens_saved"] == 0)
    return base64.b64decode(reply.json["body"]["json"]) == body()


@pytest.fixture(scope="module")
def port() -> Any:
    with opened() as port:
        yield port


def trimmed(rows: list[dict[str, Any]]) -> int:
    """How many rows differ from the session's; their number, order and all else must be the same."""
    changed = 0
    for was, now in zip(messages(), rows, strict=True):
        if was != now:
            assert was["role"] == "tool"
            assert {**was, "content": ""} == {**now, "content": ""}
            assert 0 < len(now["content"]) < len(was["content"])
            changed += 1
    return changed


def test_compact_swaps_the_body_byte_for_byte_outside_of_the_results(port: Port) -> None:
    """A body over its budget comes back smaller, every other byte as it was, with its decision's id."""
    reply = port.post("/compact", body(), JSON)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.body.startswith(b'{ "model" : "m" , "seed":12345678901234567890, "t": 1.0,\n')
    assert trimmed(reply.json["messages"]) > 0
    decision = port.kept.decisions[-1]
    assert reply.headers["x-pinch-decision-id"] == decision.decision_id
    saved = (decision.pinch_original_tokens or 0) - (decision.pinch_final_tokens or 0)
    assert reply.headers["x-pinch-tokens-saved"] == str(saved)


def test_compact_takes_a_body_in_any_dialect(port: Port) -> None:
    """The dialect is recognised, or taken from the header."""
    result = "word " * 4_000
    anthropic = {
        "model": "claude",
        "max_tokens": 10,
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": result}]},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "next"},
        ],
    }
    for headers in ({}, {"X-Pinch-Format": "anthropic"}):
        reply = port.post("/compact", json.dumps(anthropic).encode(), {**JSON, **headers})
        assert reply.status == 200
        assert port.kept.decisions[-1].format == "anthropic"
        assert len(reply.json["messages"][2]["content"][0]["content"]) < len(result)


def test_compact_keeps_what_is_within_its_budget(port: Port) -> None:
    """With nothing to gain there is no body, and a reason instead."""
    reply = port.post("/compact", body(), {"X-Pinch-Budget-Tokens": "1000000"})
    assert is_unchanged("/compact", reply)
    assert reply.headers["x-pinch-unchanged-reason"] == "within_budget"


def test_the_guardrail_changes_results_alone(port: Port) -> None:
    """LiteLLM gets every row back, in order, with nothing but results shortened."""
    reply = port.post(GUARDRAIL, guarded(messages()), JSON)
    assert reply.json["action"] == "GUARDRAIL_INTERVENED"
    assert trimmed(reply.json["structured_messages"]) > 0
    decision = port.kept.decisions[-1]
    assert (decision.request_id, decision.model, decision.format) == ("call-1", "gpt-4o", "openai-chat")
    assert decision.session_hash is not None


def test_the_guardrail_counts_the_tools_that_ship(port: Port) -> None:
    """Definitions of tools stand beside the messages and are part of both sizes."""
    tools = [{"type": "function", "function": {"name": "f", "description": "d" * 3_000, "parameters": {}}}]
    port.post(GUARDRAIL, guarded(messages(), tools=tools), JSON)
    with_tools = port.kept.decisions[-1].extra_fixed_tokens
    port.post(GUARDRAIL, guarded(messages(), tools=None), JSON)
    assert with_tools > port.kept.decisions[-1].extra_fixed_tokens


@pytest.mark.parametrize(
    "more",
    [
        {"request_headers": {"Anthropic-Version": "[present]"}},
        {"request_headers": {"anthropic-beta": "[present]"}},
        {"structured_messages": [*messages(), {"role": "user", "content": "x", "cache_control": {}}]},
        {
            "structured_messages": [
                *messages(),
                {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {}}]},
            ]
        },
        {"structured_messages": [*messages(), {"role": "assistant", "thinking_blocks": []}]},
    ],
)
def test_the_guardrail_leaves_the_messages_route_alone(port: Port, more: dict[str, Any]) -> None:
    """Whatever shows that a request came to /v1/messages has it left alone, since LiteLLM would damage it."""
    before = len(port.kept.decisions)
    reply = port.post(GUARDRAIL, guarded(messages(), **more), JSON)
    assert is_unchanged(GUARDRAIL, reply)
    assert reply.headers["x-pinch-unchanged-reason"] == "anthropic_messages"
    assert len(port.kept.decisions) == before


@pytest.mark.parametrize("number", [b"9" * 5_000, b"1e999"])
def test_the_guardrail_reads_numbers_of_any_size(port: Port, number: bytes) -> None:
    """A number that no type holds is worth no request: results are shortened, the number stays."""
    asked = guarded([{**row, "n": "N"} for row in messages()]).replace(b'"N"', number)
    reply = port.post(GUARDRAIL, asked, JSON)
    assert "x-pinch-unchanged-reason" not in reply.headers
    assert reply.body.count(number) == len(messages())


def test_rows_that_are_no_text_are_no_failure_of_pinch(port: Port, caplog: pytest.LogCaptureFixture) -> None:
    """Bytes that are no UTF-8 in a guardrail's rows are told as the request's fault, without an error."""
    with caplog.at_level(logging.ERROR):
        reply = port.post(GUARDRAIL, guarded(messages()).replace(b"And now?", b"\xff\xfe"), JSON)
    assert is_unchanged(GUARDRAIL, reply)
    assert reply.headers["x-pinch-unchanged-reason"] == "not_understood"
    assert not caplog.records


def test_the_guardrail_reads_headers_that_litellm_was_told_to_show(port: Port) -> None:
    """Hidden values are no values; shown ones count like the caller's own headers."""
    shown = {"x-pinch-budget-tokens": "1000000", "x-pinch-session-id": "[present]", "accept": "*/*"}
    reply = port.post(GUARDRAIL, guarded(messages(), request_headers=shown), JSON)
    assert is_unchanged(GUARDRAIL, reply)
    assert reply.headers["x-pinch-unchanged-reason"] == "within_budget"


def test_the_guardrail_has_nothing_to_do_with_replies(port: Port) -> None:
    """A model's answer is not looked at."""
    reply = port.post(GUARDRAIL, guarded(messages(), input_type="response"), JSON)
    assert is_unchanged(GUARDRAIL, reply)


def test_headroom_gets_as_many_rows_as_it_sent(port: Port) -> None:
    """The rows come back in their number and order, with the sizes under headroom's names."""
    rows = [row for row in messages() if row["role"] in ("user", "tool")]
    reply = port.post("/v1/compress", json.dumps({"messages": rows, "model": "gpt-4o"}).encode(), JSON)
    assert len(reply.json["messages"]) == len(rows)
    changed = [now for was, now in zip(rows, reply.json["messages"], strict=True) if was != now]
    assert changed
    assert {row["role"] for row in changed} == {"tool"}
    assert reply.json["tokens_before"] - reply.json["tokens_after"] == reply.json["tokens_saved"] > 0
    assert reply.json["ccr_hashes"] == []


def test_headroom_refuses_what_has_no_rows(port: Port) -> None:
    """Without rows there is none to echo: the guardrail then goes by its own fail_open."""
    for sent in (b"{}", b"nope", b'{"messages": 3}'):
        assert port.post("/v1/compress", sent, JSON).status == 422


def test_portkey_gets_the_whole_body_transformed(port: Port) -> None:
    """The verdict is yes, and the transformed body is the one Portkey would send, results shortened."""
    reply = port.post("/hooks/portkey", hooked(body()), JSON)
    assert reply.json["verdict"] is True
    inner = reply.json["transformedData"]["request"]["json"]
    assert trimmed(inner["messages"]) > 0
    assert inner["model"] == "m"
    assert port.kept.decisions[-1].session_hash is not None


def test_portkey_sends_texts_that_were_cut_within_a_character(port: Port) -> None:
    """Half of a pair of surrogates, as JavaScript leaves it, keeps no body from being pruned, and stays."""
    inner = body().replace(b"And now?", b"And now? \\ud83d")
    reply = port.post("/hooks/portkey", hooked(inner), JSON)
    assert b"And now? \\ud83d" in reply.body
    sent = reply.json["transformedData"]["request"]["json"]
    assert sent["messages"][-1]["content"] == "And now? \ud83d"
    assert len(json.dumps(sent)) < len(inner)


@pytest.mark.parametrize(
    "sent",
    [
        b'"\\ud83d"',
        b'["\\ud83d"]',
        b'{"request": "\\ud83d"}',
        b'{"request": ["\\ud83d"]}',
        b'{"request": {"text": "\\ud83d"}}',
        b'{"request": null, "x": "\\ud83d"}',
        b'{"request": {"json": {}}, "eventType": ["\\ud83d"]}',
    ],
)
def test_portkeys_halves_of_characters_elsewhere(port: Port, sent: bytes) -> None:
    """Wherever else such a half stands, in whatever else, the request passes without an error of ours."""
    reply = port.post("/hooks/portkey", sent, JSON)
    assert is_unchanged("/hooks/portkey", reply)
    assert reply.headers["x-pinch-unchanged-reason"] == "not_understood"


def test_portkey_sends_more_than_conversations(port: Port) -> None:
    """Embeddings, answers and hooks without a body pass."""
    for sent in (
        hooked(b'{"input":"x"}', "embed"),
        hooked(body()).replace(b"beforeRequestHook", b"afterRequestHook"),
        b'{"request":{}}',
        b"nope",
    ):
        assert is_unchanged("/hooks/portkey", port.post("/hooks/portkey", sent, JSON))


def test_prune_speaks_the_contract_in_json(port: Port) -> None:
    """A PruneRequest in protobuf's JSON is answered with a PruneResponse in it."""
    reply = port.post("/v1/prune", asked_to_prune(context={"sessionId": "s", "route": "ROUTE_ROUTED"}), JSON)
    assert reply.status == 200
    assert trimmed(json.loads(base64.b64decode(reply.json["body"]["json"]))["messages"]) > 0
    assert reply.json["decisionId"] == reply.headers["x-pinch-decision-id"]
    assert reply.json["persisted"] is True
    assert reply.json["measured"]["method"] == "chars3"
    assert port.kept.decisions[-1].route == "ROUTED"


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (b"nope", ""),
        (b"\xff", ""),
        (b'"secret"', ""),
        (b"[]", ""),
        (b'{"limts": {}}', "limts"),
        (b'{"limits": {"budgetTokens": "abc"}}', "limits.budgetTokens"),
        (b"{}", "conversation"),
        (asked_to_prune(limits={"budgetTokens": "0"}), "limits.budget_tokens"),
    ],
)
def test_prune_names_what_is_wrong(port: Port, sent: bytes, field: str) -> None:
    """A caller's fault is a 400 that names the field, and quotes no value of it."""
    reply = port.post("/v1/prune", sent, JSON)
    assert reply.status == 400
    assert [one["field"] for one in reply.json["violations"]] == [field]
    assert b"abc" not in reply.body


@pytest.mark.parametrize("path", [path for path in UNCHANGED if path != "/v1/prune"])
def test_a_header_that_is_wrong_changes_nothing_but_is_told(port: Port, path: str) -> None:
    """A misspelt or malformed header leaves the request as it is, with `invalid` as the reason."""
    for header in ({"x-pinch-budget": "5"}, {"x-pinch-budget-tokens": "many"}, {"x-pinch-dry-run": "maybe"}):
        reply = port.post(path, UNCHANGED[path], {**JSON, **header})
        assert is_unchanged(path, reply)
        assert reply.headers["x-pinch-unchanged-reason"] == "invalid"


@pytest.mark.parametrize("path", [path for path in UNCHANGED if path != "/v1/prune"])
def test_a_bypass_is_no_decision(port: Port, path: str) -> None:
    """With the bypass header nothing is decided, counted or kept."""
    before = len(port.kept.decisions)
    reply = port.post(path, UNCHANGED[path], {**JSON, "x-pinch-bypass": "true"})
    assert is_unchanged(path, reply)
    assert reply.headers["x-pinch-unchanged-reason"] == "bypass"
    assert len(port.kept.decisions) == before


@pytest.mark.parametrize("path", [path for path in UNCHANGED if path not in ("/v1/prune", "/v1/compress")])
def test_a_dry_run_decides_and_changes_nothing(port: Port, path: str) -> None:
    """With the dry-run header the decision is kept as a dry one."""
    reply = port.post(path, UNCHANGED[path], {**JSON, "x-pinch-dry-run": "true"})
    assert is_unchanged(path, reply)
    assert port.kept.decisions[-1].dry_run


@pytest.mark.parametrize("path", ["/compact", GUARDRAIL, "/hooks/portkey"])
def test_what_cannot_be_read_changes_nothing(port: Port, path: str) -> None:
    """No bytes that are posted get an error back from a mouth on which a gateway would fail."""
    for sent in (
        b"",
        b"nope",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"messages": 3}',
        b"null",
        b"1e999",
    ):
        assert is_unchanged(path, port.post(path, sent, JSON))


@pytest.mark.parametrize("path", UNCHANGED)
def test_what_is_too_large_is_not_kept(path: str) -> None:
    """A body over the limit is answered without being read whole."""
    with opened(max_bytes=10_000) as port:
        reply = port.post(path, UNCHANGED[path], JSON)
        assert reply.headers["x-pinch-unchanged-reason"] == "too_large"
        if path in ("/v1/prune", "/v1/compress"):
            assert reply.status in (413, 422)
        else:
            assert is_unchanged(path, reply)
        assert port.kept.decisions == []


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "nonsense"])
@pytest.mark.parametrize("path", UNCHANGED)
def test_a_packed_body_stays_as_it_is(port: Port, path: str, coding: str) -> None:
    """A body with a Content-Encoding, true or not, is left alone: plain bytes must not take its place."""
    for sent in (gzip.compress(UNCHANGED[path]), UNCHANGED[path]):
        reply = port.post(path, sent, {**JSON, "Content-Encoding": coding})
        assert reply.headers["x-pinch-unchanged-reason"] == "encoded"
        if path == "/v1/prune":
            assert reply.status == 400
            assert reply.json["violations"][0]["field"] == "content-encoding"
        elif path == "/v1/compress":
            assert reply.status == 422
        else:
            assert is_unchanged(path, reply)


@pytest.mark.parametrize("name", ["x-pinch-session-id", "x-pinch-model", "x-request-id"])
def test_a_header_of_no_characters_breaks_nothing(port: Port, name: str) -> None:
    """A value that is no UTF-8 counts as the text that can be read of it, and the request is pruned."""
    reply = port.post("/compact", body(), {**JSON, name: "\xff\xfe"})
    assert reply.status == 200


def test_no_bytes_of_a_request_are_logged(port: Port, caplog: pytest.LogCaptureFixture) -> None:
    """Bytes behind a length that is too short, or where none is told, are in no line of the log."""
    caplog.set_level(logging.DEBUG)
    head = b"POST /compact HTTP/1.1\r\nHost: x\r\n"
    for framing in (b"Content-Length: 2\r\n\r\n{}", b"Transfer-Encoding: chunked\r\n\r\n"):
        host, _, number = port.address.rpartition(":")
        with socket.create_connection((host, int(number)), timeout=30) as connection:
            connection.sendall(head + framing + b"a word of the conversation\r\n\r\n")
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
    assert "conversation" not in caplog.text


@pytest.mark.parametrize("path", UNCHANGED)
def test_what_is_late_changes_nothing_and_leaves_no_row(path: str) -> None:
    """After the deadline the conversation goes on as it came, and the decision is not recorded any more."""
    stuck = Stuck()
    with opened(counter=stuck, seconds=0.05) as port:
        reply = port.post(path, UNCHANGED[path], JSON)
        assert is_unchanged(path, reply)
        assert reply.headers["x-pinch-unchanged-reason"] == "late"
        assert stuck.reached.is_set()
        stuck.let_go.set()
    assert port.kept.decisions == []


def test_one_request_too_many_is_answered_unread() -> None:
    """Beyond the bound a request goes on as it came at once, though all threads are busy."""
    stuck = Stuck()
    with opened(counter=stuck, most=1, threads=1) as port:
        first = threading.Thread(target=port.post, args=("/compact", body(), JSON))
        first.start()
        assert stuck.reached.wait(30)
        reply = port.post("/compact", body(), JSON)
        assert is_unchanged("/compact", reply)
        assert reply.headers["x-pinch-unchanged-reason"] == "overloaded"
        # What is to be given back was not read: whoever asks may ask again.
        again = port.post("/v1/prune", asked_to_prune(), JSON)
        assert (again.status, again.json) == (503, {"error": "overloaded"})
        stuck.let_go.set()
        first.join(30)
    assert len(port.kept.decisions) == 1


def test_a_crowd_that_never_asks_is_thinned_out() -> None:
    """Of too many connections the oldest silent ones end, while one that is being answered never does."""
    stuck = Stuck()
    with opened(counter=stuck, most_connections=4) as port, ExitStack() as stack:
        answers: list[Any] = []
        first = threading.Thread(target=lambda: answers.append(port.post("/compact", body(), JSON)))
        first.start()
        assert stuck.reached.wait(30)
        host, _, number = port.address.rpartition(":")
        crowd = [
            stack.enter_context(socket.create_connection((host, int(number)), timeout=30)) for _ in range(20)
        ]
        for connection in crowd[:16]:
            assert connection.recv(1) == b""
        stuck.let_go.set()
        first.join(30)
        assert answers[0].status == 200


def test_a_decision_that_nobody_waits_for_is_rejected() -> None:
    """When a gateway hangs up before its answer, its request goes on as it came, and saves nothing."""
    held = Held()
    with opened(recorder=held) as port:
        host, _, number = port.address.rpartition(":")
        text = body()
        with socket.create_connection((host, int(number)), 30) as connection:
            connection.sendall(
                b"POST /compact HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%b" % (len(text), text)
            )
            assert held.reached.wait(30)
        # Answered by the same loop, which has then seen the end of the other connection.
        assert port.post("/compact", text, {"x-pinch-bypass": "true"}).status == 204
        held.let_go.set()
        assert held.reported.wait(30)
    (decision,) = held.kept.decisions
    assert [(one.decision_id, one.outcome) for one in held.kept.outcomes] == [
        (decision.decision_id, "REJECTED")
    ]


def test_each_request_has_its_account(port: Port) -> None:
    """Path, result and decision are told for each request, and nothing of its body."""
    port.accounts.clear()
    port.post("/compact", body(), JSON)
    port.post("/compact", b"nope", JSON)
    assert [(path, result) for path, result, _ in port.accounts] == [
        ("/compact", "pruned"),
        ("/compact", "invalid"),
    ]


def test_a_mouth_takes_posts_alone(port: Port) -> None:
    """Another path is 404, and what was not named in the settings is not there."""
    assert port.post("/nothing", b"", JSON).status == 404
