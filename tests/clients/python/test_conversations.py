"""A dict goes out as JSON bytes and comes back as the same dict, whatever Python can hold of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch import Format
from pinch.conversations import prepare_body
from tests.clients.python.scripted import byte_edit

# Any text, lone surrogates too; a pair of them is one character in JSON and so no case of its own.
TEXTS = st.text(st.characters(exclude_categories=[])).filter(
    lambda text: json.loads(json.dumps(text)) == text
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, JSON, max_size=4))
def test_an_edited_dict_differs_only_by_the_edit(body: dict[str, Any]) -> None:
    """Sent as bytes, edited and read again, every other key keeps its place and its value."""
    given_body = {**body, "edited": ["q" * 40]}
    prepared = prepare_body(given_body, Format.FORMAT_OPENAI_CHAT)
    edit = byte_edit(prepared.request.body.json, b'"' + b"q" * 40 + b'"', b'"new"')
    edited = prepared.apply([edit])
    assert edited == {**given_body, "edited": ["new"]}
    assert list(edited) == list(given_body)
    assert given_body["edited"] == ["q" * 40]


@pytest.mark.parametrize("text", ["\ud800", "a\udc00b", "\x00", "\u2028", "😀"])
def test_odd_text_is_sent(text: str) -> None:
    """Lone surrogates, NUL and line separators do not raise and survive the way there and back."""
    prepared = prepare_body({"text": text}, Format.FORMAT_UNSPECIFIED)
    assert json.loads(prepared.request.body.json) == {"text": text}


def test_bytes_are_sent_as_they_are() -> None:
    """Bytes are not read, only sent: not even bytes that are no JSON are changed."""
    prepared = prepare_body(b"\xff not json", Format.FORMAT_UNSPECIFIED)
    assert prepared.request.body.json == b"\xff not json"
