"""The scanner keeps spans and order, and reads whatever a client may send."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checker.json_tokens import Node, NotJson, nodes, scan, string_tokens


def value(node: Node) -> object:
    """The Python value of a node, by recursion: small documents only."""
    if node.kind == "object":
        return {key: value(item) for key, item in node.members().items()}
    if node.kind == "array":
        return [value(item) for item in node.items]
    return node.text if node.kind == "string" else json.loads(node.raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_scan_agrees_with_the_parser(document: object, indent: int | None, ascii_only: bool) -> None:
    """What the scanner reads is what the standard parser reads, however the document is written."""
    body = json.dumps(document, indent=indent, ensure_ascii=ascii_only).replace("\n", "\r\n").encode()
    root = scan(body)
    assert value(root) == json.loads(body)
    for node in nodes(root):
        assert json.loads(node.raw) == value(node)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[1,]", b'{"a":1,}', b"{a:1}", b"nul", b"01", b"1.", b"NaN", b"1 2", b'"\x01"', b'"\\x"',
        b'"\xff"', b"]", b"[}", b'{"a"}', b'{"a":}', b"\xef\xbb\xbf{}", b'"\xed\xa0\xbd"', b",", b'{"a":1]',
        b"[1 2]",
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused(body: bytes) -> None:
    """Anything that is not strictly one JSON document is refused."""
    with pytest.raises(NotJson):
        scan(body)


def test_odd_documents() -> None:
    """Duplicate keys, lone surrogates, NUL, huge numbers and a depth of 100,000 are read."""
    root = scan(b'{"a":1,"b":1e400,"a":"\\ud83d","c":12345678901234567890,"d":"\\u0000\\ud83d\\ude00"}')
    assert root.string("a") == "\ud83d"
    assert root.string("d") == "\x00\U0001f600"
    deep = b"[" * 100_000 + b"]" * 100_000
    assert scan(deep).end == len(deep)


def test_string_tokens_have_paths_and_spans() -> None:
    """Every string token is listed with its path and exact span, keys before their values."""
    body = '{ "k\\u00e9y" : [ "é", {"b":"c"} ] }'.encode()
    found = [
        (token.path, body[token.start : token.end].decode(), token.is_key) for token in string_tokens(body)
    ]
    assert found == [
        (("kéy",), '"k\\u00e9y"', True),
        (("kéy", 0), '"é"', False),
        (("kéy", 1, "b"), '"b"', True),
        (("kéy", 1, "b"), '"c"', False),
    ]
