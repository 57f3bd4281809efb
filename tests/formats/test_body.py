"""Bodies end to end: odd ones are read, edited only where a tool's text stands, or refused in words."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from pinch_server.core.conversation import TextPart
from pinch_server.core.counting import Chars3
from pinch_server.core.planning import plan_pruning
from pinch_server.formats.body import Reading, byte_edits, read_body
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.format import Format
from tests.checker.check import check
from tests.checker.samples import BUILD, TEXT, raw
from tests.formats.bodies import TIGHT, chat, prune

ODD: list[Any] = [None, 5, 1.5, True, {"a": "b" * 400}, [], [None, 5, [], {}], [[TEXT]], {"type": "text"}]


@pytest.mark.parametrize("format", sorted(BUILD))
@pytest.mark.parametrize("content", ODD, ids=repr)
def test_odd_contents_are_carried_along(format: str, content: Any) -> None:
    """A result whose content is a number, null, an object or a list of anything is no error."""
    body = raw(BUILD[format](content))
    assert check(format, body, prune(body, format).body) == []


@pytest.mark.parametrize("format", sorted(BUILD))
@pytest.mark.parametrize(
    "message", [None, 5, "text", [], [[]], {}, {"role": 5}, {"role": None, "content": 1}]
)
def test_odd_messages_are_carried_along(format: str, message: Any) -> None:
    """Messages that are no objects, or have no role, count and stay."""
    value = BUILD[format](TEXT)
    history = value[{"openai-responses": "input", "gemini": "contents"}.get(format, "messages")]
    history[1:1] = [message, message]
    body = raw(value)
    outcome = prune(body, format)
    assert outcome.edits
    assert check(format, body, outcome.body) == []


@pytest.mark.parametrize("format", sorted(BUILD))
@pytest.mark.parametrize(
    "key", ["system", "tools", "functions", "instructions", "systemInstruction", "toolConfig"]
)
@pytest.mark.parametrize("value", [None, 5, "text", [], [None, 5, "a"], {}, {"parts": 5}, {"tools": 5}, True])
def test_odd_members_beside_the_history_are_carried_along(format: str, key: str, value: Any) -> None:
    """System prompts and tool definitions of any shape count and stay."""
    body = raw(BUILD[format](TEXT) | {key: value})
    outcome = prune(body, format)
    assert outcome.edits
    assert check(format, body, outcome.body) == []


@pytest.mark.parametrize("format", sorted(BUILD))
def test_ten_thousand_messages(format: str) -> None:
    """A history of 10,000 messages is read and edited like a short one."""
    value = BUILD[format](TEXT[:200])
    key = {"openai-responses": "input", "gemini": "contents"}.get(format, "messages")
    history = value[key]
    value[key] = [*history[:-2] * (10_000 // (len(history) - 2)), *history[-2:]]
    body = json.dumps(value).encode()
    outcome = prune(body, format)
    assert len(outcome.edits) == (len(value[key]) - 2) // (len(history) - 2)
    assert json.loads(outcome.body).keys() == value.keys()


@pytest.mark.parametrize("format", sorted(BUILD))
def test_nesting_inside_the_conversation(format: str) -> None:
    """A value nested 400 deep inside a result or beside it is carried along."""
    nest: Any = "leaf " * 100
    for _ in range(200):
        nest = [{"k": nest}]
    body = raw(BUILD[format](TEXT) | {"metadata": nest})
    assert prune(body, format).edits
    deep = json.dumps(BUILD[format](nest), separators=(",", ":")).encode()
    assert check(format, deep, prune(deep, format).body) == []


@pytest.mark.parametrize("format", sorted(BUILD))
@pytest.mark.parametrize("depth", [700, 1_000, 3_000, 100_000])
def test_nesting_beyond_all_sense_never_ends_the_process(format: str, depth: int) -> None:
    """However deep a value is nested, and wherever, the body is pruned, refused or not understood."""
    for opening, closing in (("[", "]"), ('{"k":', "}")):
        nest = opening * depth + '"' + "leaf " * 30 + '"' + closing * depth
        template = json.dumps(BUILD[format]("@") | {"system": "@", "tools": "@"})
        for place in range(template.count('"@"')):
            pieces = template.split('"@"')
            text = '"@"'.join(pieces[: place + 1]) + nest + '"@"'.join(pieces[place + 1 :])
            try:
                prune(text.encode(), format)
            except (BodyError, NotUnderstoodError):
                continue


def test_a_reading_that_went_wrong_changes_no_byte() -> None:
    """Where another text stands than the one an edit was planned on, nothing is written."""
    reading = read_body(chat(json.dumps(TEXT)), Format.OPENAI_CHAT)
    plan = plan_pruning(reading.conversation, TIGHT, Chars3())
    other = Reading(chat(json.dumps(TEXT + "!")), reading.dialect, reading.conversation)
    with pytest.raises(NotUnderstoodError):
        byte_edits(other, plan.edits)
    (edit,) = plan.edits
    assert isinstance(edit.old, TextPart)
    lost = dataclasses.replace(edit, old=dataclasses.replace(edit.old, address=("messages", 99, "content")))
    with pytest.raises(NotUnderstoodError):
        byte_edits(reading, [lost])


def test_nothing_planned_writes_nothing() -> None:
    """Without edits there are no byte ranges."""
    assert byte_edits(read_body(chat('"x"'), None), []) == []


@pytest.mark.parametrize(("role", "speaker"), [("user", "user"), ("function", "tool"), ("tool", "tool")])
def test_what_a_function_says_in_gemini_is_no_turn(role: str, speaker: str) -> None:
    """Only the user opens a turn: a text in the place of a function's results is not the user's."""
    body = json.dumps({"contents": [{"role": role, "parts": [{"text": "said"}]}]}).encode()
    (message,) = read_body(body, Format.GEMINI).conversation.messages
    assert (message.speaker.value, message.is_turn) == (speaker, speaker == "user")
