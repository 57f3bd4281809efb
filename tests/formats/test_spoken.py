"""Which dialect a body is of when nothing but its shape can tell, and when it is of none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pinch_server.formats.body import read_body
from pinch_server.formats.format import Format
from pinch_server.formats.spoken import Unspoken, spoken_in
from tests.checker.samples import BUILD, TEXT, raw
from tests.vectors.vectors import load_vector, vector_files

ANTHROPIC = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": TEXT}]}
BEDROCK = {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": TEXT}]}}]}
CHAT = {"role": "tool", "tool_call_id": "a", "content": TEXT}
GEMINI = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": TEXT}}}]}
ITEM = {"type": "function_call_output", "call_id": "a", "output": TEXT}
SAID = {"role": "user", "content": "hello"}

SHAPES: list[tuple[Any, Format | Unspoken]] = [
    ({"model": "m", "messages": [SAID, CHAT]}, Format.OPENAI_CHAT),
    ({"tools": [], "messages": [SAID, CHAT]}, Format.OPENAI_CHAT),
    ({"model": "m", "messages": [SAID, {**CHAT, "role": "function"}]}, Format.OPENAI_CHAT),
    ({"model": "m", "messages": [SAID, ANTHROPIC]}, Format.ANTHROPIC),
    ({"anthropic_version": "vertex-2023-10-16", "messages": [ANTHROPIC]}, Format.ANTHROPIC),
    ({"modelId": "m", "messages": [BEDROCK]}, Format.BEDROCK),
    ({"toolConfig": {}, "messages": [BEDROCK]}, Format.BEDROCK),
    ({"model": "m", "input": [SAID, ITEM]}, Format.OPENAI_RESPONSES),
    ({"tools": [], "contents": [GEMINI]}, Format.GEMINI),
    ({"generationConfig": {}, "contents": [GEMINI]}, Format.GEMINI),
    # Another history beside it, in which nothing could be edited.
    ({"model": "m", "messages": [SAID, CHAT], "input": "hello"}, Format.OPENAI_CHAT),
    ({"model": "m", "messages": [ANTHROPIC, CHAT]}, Unspoken.AMBIGUOUS),
    ({"model": "m", "messages": [ANTHROPIC, BEDROCK]}, Unspoken.AMBIGUOUS),
    ({"model": "m", "messages": [CHAT], "input": [ITEM]}, Unspoken.AMBIGUOUS),
    ({"messages": [SAID, CHAT]}, Unspoken.NO_REQUEST),
    ({"id": "thread", "messages": [ANTHROPIC], "user": "u"}, Unspoken.NO_REQUEST),
    ({"model": "m", "messages": [SAID]}, Unspoken.NOTHING_TO_TRIM),
    ({"model": "m", "input": ["a text to embed"]}, Unspoken.NOTHING_TO_TRIM),
    ({"model": "m", "input": "a text to embed"}, Unspoken.NOTHING_TO_TRIM),
    ({"model": "m", "prompt": "hello"}, Unspoken.NO_CONVERSATION),
    ({"model": "m", "messages": {"tool": CHAT}}, Unspoken.NO_CONVERSATION),
    ({"model": "m"}, Unspoken.NO_CONVERSATION),
    ([CHAT], Unspoken.NO_CONVERSATION),
    ("messages", Unspoken.NO_CONVERSATION),
]


@pytest.mark.parametrize(("body", "expected"), SHAPES)
def test_a_shape_tells_the_dialect_or_why_it_does_not(body: Any, expected: Format | Unspoken) -> None:
    """One dialect's tool results in what has a request's members tell it; anything else is never guessed."""
    assert spoken_in(json.dumps(body).encode()) == expected


@pytest.mark.parametrize("format", sorted(BUILD))
def test_every_dialect_is_told(format: str) -> None:
    """A request with results in the form of one dialect is of that one."""
    assert spoken_in(raw({**BUILD[format](TEXT), "model": "m"})) == format


@pytest.mark.parametrize("place", vector_files(), ids=lambda place: place.stem)
def test_no_vector_is_taken_for_another_dialect(place: Any) -> None:
    """Whatever a body holds, its dialect is told as the vector names it, or not at all."""
    vector = load_vector(place)
    told = spoken_in(vector.body)
    assert isinstance(told, Unspoken) or told == vector.format
    if isinstance(told, Format):
        assert read_body(vector.body, None).dialect.format == told


@pytest.mark.parametrize("body", [b"", b"nope", b"\xff", b'{"messages": '])
def test_what_is_no_json_is_no_conversation(body: bytes) -> None:
    """Bytes that are not a JSON object have no dialect."""
    assert spoken_in(body) is Unspoken.NO_CONVERSATION


def test_what_is_nested_without_end_is_not_understood() -> None:
    """A body too deep to be read ends nothing."""
    assert spoken_in(b'{"model":"m","messages":' + b"[" * 200_000) is Unspoken.NOT_UNDERSTOOD
