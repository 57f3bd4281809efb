"""Answers of a model's endpoint as servers give them: what can be read is, and no odd part costs the rest."""

import json
from typing import Any

import pytest

from pinch_server.extract.anthropic import Anthropic
from pinch_server.extract.api import UnreadableError
from pinch_server.extract.model import Usage
from pinch_server.extract.openai import OpenAI

_BILLED = (
    b'{"choices": [{"message": {"content": "a"}}], "content": [],'
    b' "usage": {"prompt_tokens": %b, "input_tokens": 1e9, "output_tokens": {}}}'
)


def openai(message: Any, usage: Any = None) -> bytes:
    return json.dumps({"choices": [{"message": message}], "usage": usage}).encode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (None, ""),
        ([], ""),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "a"},
            ],
            "a",
        ),
        (
            [{"type": "text", "text": "a"}, {"type": "text", "text": None}, {"type": "text", "text": "b"}],
            "ab",
        ),
    ],
)
def test_what_a_chat_says_is_its_text(content: Any, text: str) -> None:
    """A message is one text or has parts, of which the texts count and the reasoning does not."""
    assert OpenAI().read(openai({"content": content, "reasoning_content": "hm"})).text == text


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": None, "completion_tokens": 3}, Usage(0, 3)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(0, 0, 5)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": None}}, Usage(5)),
    ],
)
def test_a_bill_that_is_not_told_loses_no_answer(usage: Any, expected: Usage) -> None:
    """What a server leaves out of its bill is taken for nothing told, and the text is had."""
    read = OpenAI().read(openai({"content": "a"}, usage))
    assert (read.text, read.usage) == ("a", expected)


def test_what_a_message_says_is_its_text_blocks() -> None:
    """Of Anthropic's blocks the texts count; a bill or a text that is null is none."""
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": None},
        {"type": "text", "text": "a"},
    ]
    for usage in (None, {"input_tokens": None, "output_tokens": None}):
        read = Anthropic().read(json.dumps({"content": blocks, "usage": usage}).encode())
        assert (read.text, read.usage) == ("a", Usage())


@pytest.mark.parametrize("api", [OpenAI(), Anthropic()], ids=["openai", "anthropic"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"choices": null, "content": null}',
        b'{"choices": [], "content": "text"}',
        b'{"choices": [{"message": null}], "content": [null]}',
        b'{"choices": [{"message": {"content": 7}}], "content": [{"type": "text", "text": 7}]}',
        *(_BILLED % number for number in (b"-1", b'"9"', b"1e300", b"[]")),
    ],
)
def test_what_is_no_answer_is_refused(api: OpenAI | Anthropic, body: bytes) -> None:
    """Wrong types, and bills that are none, make an answer unreadable; nothing else is raised."""
    with pytest.raises(UnreadableError):
        api.read(body)
