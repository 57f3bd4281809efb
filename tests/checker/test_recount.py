"""The recount, held against sums done by hand."""

from __future__ import annotations

import json

import pytest

from tests.checker.image_size import read_size, tokens
from tests.checker.recount import recount
from tests.checker.samples import BUILD, PNG, TEXT, raw


@pytest.mark.parametrize("format", sorted(BUILD))
def test_results_cost_a_third_of_their_characters(format: str) -> None:
    """A result that is 3,000 characters longer costs 1,000 tokens more, in every dialect."""
    short, long = (recount(format, raw(BUILD[format](text))).total for text in ("y" * 300, "y" * 3300))
    assert long - short == 1000


def test_chat_by_hand() -> None:
    """One floor a message, arguments and reasoning counted, tools once with default separators."""
    body = BUILD["openai-chat"]("é" * 10)
    body["tools"] = [{"type": "function", "function": {"name": "grep", "description": "ä"}}]
    said = recount("openai-chat", raw(body))
    arguments = len("hm") + len("grep") + len('{"q": 1.0}')
    assert said.messages == (len("start") // 3, arguments // 3, 3, len("done") // 3, len("and now?") // 3)
    assert said.fixed == len(json.dumps(body["tools"])) // 3
    assert recount("openai-chat", raw(body), extra_fixed_tokens=7).fixed == 7


def test_object_arguments_are_compact_and_raw() -> None:
    """Arguments that are an object count as compact JSON with raw non-ASCII."""
    body = BUILD["bedrock"]("ok")
    body["messages"][1]["content"][0]["toolUse"]["input"] = {"q": "é" * 30, "n": [1, 2]}
    expected = len("grep") + len('{"q":"' + "é" * 30 + '","n":[1,2]}')
    assert recount("bedrock", raw(body)).messages[1] == expected // 3


def test_system_prompt_is_a_message() -> None:
    """A system prompt beside the messages is counted once."""
    body = BUILD["anthropic"](TEXT) | {"system": [{"type": "text", "text": "s" * 31}]}
    assert recount("anthropic", raw(body)).system == 10


def test_images_cost_by_pixels() -> None:
    """An image costs by its header's size, an unreadable one 1,600, never by its base64."""
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    body = BUILD["openai-chat"]([part])
    assert recount("openai-chat", raw(body)).messages[2] == tokens((640, 480), "openai-chat")
    part["image_url"] = {"url": "https://example.org/a.png"}
    assert recount("openai-chat", raw(body)).messages[2] == 1600


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"GIF89a" + bytes([64, 1, 240, 0]) + bytes(20), (320, 240)),
        (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\xf0\x01\x40" + bytes(20), (320, 240)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + b"\x3f\x01\x00\xef\x00\x00", (320, 240)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8L" + bytes(4) + b"\x2f\x3f\xc1\x3b\x00" + bytes(9), (320, 240)),
        (b"BM" + bytes(16) + b"\x40\x01\x00\x00\x10\xff\xff\xff", (320, 240)),
        (b"<svg/>", None),
        (b"", None),
    ],
)
def test_headers(data: bytes, size: tuple[int, int] | None) -> None:
    """Width and height come from the first bytes of the common types."""
    assert read_size(data) == size


def test_prices() -> None:
    """The providers' formulas at sizes whose price their documents name."""
    assert tokens((1024, 1024), "openai-chat") == 765
    assert tokens((384, 384), "gemini") == 258
    assert tokens((4000, 4000), "anthropic") == 1568
    assert tokens((4000, 4000), "openai-chat", low_detail=True) == 85
