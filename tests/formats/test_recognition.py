"""Which dialect a body is of, and what a body must have to be one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pinch_server.formats.body import read_body
from pinch_server.formats.errors import BodyError
from pinch_server.formats.format import Format
from tests.checker.samples import BUILD, TEXT, raw
from tests.formats.bodies import prune


def body_of(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("format", sorted(BUILD))
def test_a_body_is_recognised_by_its_tool_results(format: str) -> None:
    """A body with tool results is read in the one dialect that has them in this form."""
    assert read_body(raw(BUILD[format](TEXT)), None).dialect.format == format


@pytest.mark.parametrize(
    ("body", "format"),
    [
        ({"messages": []}, Format.OPENAI_CHAT),
        ({"messages": [{"role": "user", "content": "a"}]}, Format.OPENAI_CHAT),
        ({"messages": [], "system": "s"}, Format.ANTHROPIC),
        ({"messages": [], "anthropic_version": "bedrock-2023-05-31"}, Format.ANTHROPIC),
        ({"messages": [], "inferenceConfig": {}}, Format.BEDROCK),
        ({"input": []}, Format.OPENAI_RESPONSES),
        ({"input": "hello"}, Format.OPENAI_RESPONSES),
        ({"contents": []}, Format.GEMINI),
    ],
)
def test_a_body_without_tool_results_is_known_by_its_members(body: Any, format: Format) -> None:
    """Where no dialect could edit anything, the members beside the history decide."""
    assert read_body(body_of(body), None).dialect.format == format


RESULT = {"type": "tool_result", "tool_use_id": "a", "content": TEXT}


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (
            {"messages": [{"role": "user", "content": [RESULT]}, {"role": "tool", "content": TEXT}]},
            ("openai-chat", "anthropic"),
        ),
        (
            {"messages": [{"role": "user", "content": [RESULT, {"toolResult": {"content": []}}]}]},
            ("anthropic", "bedrock"),
        ),
        (
            {
                "messages": [{"role": "tool", "content": TEXT}],
                "input": [{"type": "function_call_output", "output": TEXT}],
                "contents": [{"role": "user", "parts": [{"functionResponse": {"response": {}}}]}],
            },
            ("openai-chat", "openai-responses", "gemini"),
        ),
    ],
)
def test_an_ambiguous_body_is_refused(body: Any, names: tuple[str, ...]) -> None:
    """A body that two dialects would edit differently is the caller's fault; the error names them."""
    with pytest.raises(BodyError) as caught:
        read_body(body_of(body), None)
    assert caught.value.field == "body.format"
    assert " or ".join(names) in caught.value.problem


@pytest.mark.parametrize("format", ["openai-chat", "anthropic"])
def test_an_ambiguous_body_is_read_as_the_caller_says(format: str) -> None:
    """A named format is never put in doubt."""
    body = {"messages": [{"role": "user", "content": [RESULT]}, {"role": "tool", "content": TEXT}]}
    assert read_body(body_of(body), Format(format)).dialect.format == format


@pytest.mark.parametrize(
    "value", [{}, {"model": "m"}, {"messages": "a"}, {"messages": {}}, {"contents": "a"}]
)
def test_a_body_without_a_history_is_refused(value: Any) -> None:
    """Where no dialect finds a list, the error says which members were looked for."""
    with pytest.raises(BodyError) as caught:
        read_body(body_of(value), None)
    assert caught.value.field == "body.json"
    for key in ("messages", "input", "contents"):
        assert key in caught.value.problem


@pytest.mark.parametrize(
    ("format", "key"),
    [
        ("openai-chat", "messages"),
        ("anthropic", "messages"),
        ("bedrock", "messages"),
        ("openai-responses", "input"),
        ("gemini", "contents"),
    ],
)
@pytest.mark.parametrize("history", [None, 5, {"a": 1}, "text", True])
def test_a_history_that_is_no_list_is_refused(format: str, key: str, history: Any) -> None:
    """Under a named format the error names the member; one bare string is a history in Responses alone."""
    if (format, history) == ("openai-responses", "text"):
        return
    for value in ({key: history}, {"other": []}):
        with pytest.raises(BodyError) as caught:
            read_body(body_of(value), Format(format))
        assert caught.value.field == f"body.json.{key}"


@pytest.mark.parametrize("value", [[], "text", 5, None, True, 1.5])
def test_a_body_that_is_no_object_is_refused(value: Any) -> None:
    """Only an object is a request."""
    with pytest.raises(BodyError, match="send the request object"):
        read_body(body_of(value), None)


@pytest.mark.parametrize("format", sorted(BUILD))
def test_an_empty_history_comes_back_as_it_came(format: str) -> None:
    """An empty list of messages is valid and unchanged."""
    key = {"openai-responses": "input", "gemini": "contents"}.get(format, "messages")
    assert prune(body_of({key: []}), format).body == body_of({key: []})


@pytest.mark.parametrize(
    "more",
    [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}}],
)
def test_stored_history_is_not_pruned(more: dict[str, Any]) -> None:
    """A request whose history lies elsewhere comes back with the reason unsupported_state."""
    body = raw(BUILD["openai-responses"](TEXT) | more)
    outcome = prune(body, None)
    assert (outcome.body, outcome.plan.unchanged_reason) == (body, "unsupported_state")


def test_referenced_items_are_not_pruned() -> None:
    """One item that is only referred to makes the whole history unknown."""
    value = BUILD["openai-responses"](TEXT)
    value["input"].insert(1, {"type": "item_reference", "id": "msg_1"})
    outcome = prune(raw(value), None)
    assert (outcome.body, outcome.plan.unchanged_reason) == (raw(value), "unsupported_state")


def test_a_wrong_format_is_told() -> None:
    """A body whose tool results speak another dialect than the one named is refused with the right name."""
    block = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    body = json.dumps({"messages": [{"role": "user", "content": [block]}]}).encode()
    with pytest.raises(BodyError, match=r"is openai-chat, but the tool results are those of anthropic"):
        read_body(body, Format.OPENAI_CHAT)
    assert read_body(body, Format.ANTHROPIC).dialect.format is Format.ANTHROPIC
