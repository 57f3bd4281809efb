"""JSON as bytes: what is decoded, what is refused, and how edits are put in."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import pytest

from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.json_body import byte_edit, decode, encode_string, splice


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"\\ud800":"\\udfff"}', {"\ud800": "\udfff"}),
        (b'["\\ud83d\\ude00","\xf0\x9f\x98\x80"]', ["\U0001f600", "\U0001f600"]),
        (b'"a\\u0000b"', "a\0b"),
        (b"[1e400,-1e400]", [math.inf, -math.inf]),
        (b"[12345678901234567890,-12345678901234567890]", [12345678901234567890, -12345678901234567890]),
        (b'{\r\n\t"a" :\r\n [ 1 ,\t2 ]\r\n}\r\n', {"a": [1, 2]}),
        (b'"\\/\\u0041\\n\\""', '/A\n"'),
        (b"null", None),
        (b' "x" ', "x"),
    ],
)
def test_all_that_providers_are_sent_is_read(body: bytes, value: Any) -> None:
    """Duplicate keys, lone surrogates, NUL, numbers out of range, any spacing and any escape are valid."""
    assert decode(body) == value


@pytest.mark.parametrize("digits", [400, 4_300, 4_301, 5_000])
def test_integers_of_any_length_are_read(digits: int) -> None:
    """An integer too long for the interpreter's own limit is no error."""
    (value,) = decode(b"[" + b"7" * digits + b"]")
    assert value == (int("7" * digits) if digits <= 4_300 else math.inf)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "is not JSON"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'{"a":"\xff"}', "is not UTF-8 (byte 6)"),
        (b'"\xed\xa0\x80"', "is not UTF-8"),
        (b"[NaN]", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"{'a':1}", "is not JSON"),
        (b"[1,]", "is not JSON"),
        (b"[01]", "is not JSON"),
        (b"{} {}", "is not JSON"),
        (b'"\x01"', "is not JSON"),
        (b'"\\x41"', "is not JSON"),
    ],
)
def test_what_is_not_json_is_the_callers_fault(body: bytes, said: str) -> None:
    """Whatever strict JSON in UTF-8 is not, the error says and names the body."""
    with pytest.raises(BodyError) as caught:
        decode(body)
    assert caught.value.field == "body.json"
    assert said in caught.value.problem


def _depth(value: Any) -> int:
    depth = 0
    while value:
        value, depth = value[0] if isinstance(value, list) else value["k"], depth + 1
    return depth


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"k":', "}")])
def test_nesting_of_400_is_read(opening: str, closing: str) -> None:
    """A nesting of 400 is ordinary."""
    inner = "[]" if opening == "[" else "0"
    assert _depth(decode((opening * 400 + inner + closing * 400).encode())) == 400


@pytest.mark.parametrize("depth", [1_000, 5_000, 100_000, 1_000_000])
@pytest.mark.parametrize(
    ("start", "closing"),
    [(b"[", b"]"), (b'{"k":', b"}"), (b'[{"k":', b"}]"), (b'["\\ud800",', b"]")],
)
def test_deep_nesting_never_ends_the_process(depth: int, start: bytes, closing: bytes) -> None:
    """However deep the nesting, the answer is an exception that callers know, closed or not."""
    for body in (start * depth, start * depth + b"0" + closing * depth):
        with pytest.raises((NotUnderstoodError, BodyError)):
            decode(body)


@pytest.mark.parametrize(
    "text", ["", "plain", 'q"\\/\n\x00\x7f', "漢字", "\U0001f600", "\ud800 lone", "\udc00"]
)
def test_a_string_is_written_as_it_was_read(text: str) -> None:
    """Every string has a JSON form in UTF-8 that reads back as the same string."""
    written = encode_string(text)
    assert decode(written) == text
    assert json.loads(written.decode("utf-8")) == text


def test_an_edit_carries_the_digest_of_what_it_replaces() -> None:
    """The receipt is the SHA-256 of exactly the replaced bytes."""
    edit = byte_edit(b'{"a":"old"}', 5, 5, b'"new"')
    assert edit.sha256 == hashlib.sha256(b'"old"').digest()


def test_edits_touch_nothing_outside_their_ranges() -> None:
    """Splicing keeps every byte before, between and after the ranges."""
    body = b' {"a": "1", "b": "22" }\r\n'
    edits = [byte_edit(body, 7, 3, b'"x"'), byte_edit(body, 17, 4, b"[]")]
    assert splice(body, edits) == b' {"a": "x", "b": [] }\r\n'
    assert splice(body, []) == body
