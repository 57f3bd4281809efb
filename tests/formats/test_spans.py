"""Where values stand: both ways of searching a body find the same places."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.conversation import Address
from pinch_server.formats.errors import NotUnderstoodError
from pinch_server.formats.json_body import decode
from pinch_server.formats.spans import locate, scan
from tests.checker.json_tokens import nodes
from tests.checker.json_tokens import scan as scan_nodes


def text_at(body: bytes, address: Address) -> Any:
    """The value that stands where an address is found."""
    offset, length = locate(body, [address])[address]
    return decode(body[offset : offset + length])


@pytest.mark.parametrize(
    ("body", "address", "value"),
    [
        (b'{"m":[{"c":"x"}]}', ("m", 0, "c"), "x"),
        (b'\r\n{ "m" :\t[ 1 ,\n{"c" : "x" } ] }', ("m", 1, "c"), "x"),
        (b'{"c":"a","c":"b"}', ("c",), "b"),
        (b'{"m":[{"c":"a"}],"m":[{"c":"b","c":"d"}]}', ("m", 0, "c"), "d"),
        (b'{"m":["a",{"c":"b"}]}', ("m", 1, "c"), "b"),
        (b'{"m":[5,null,"a"]}', ("m", 2), "a"),
        (b'{"a":{"\\u0062":{"c\\/d":"x"}}}', ("a", "b", "c/d"), "x"),
        (b'{"\\ud800":{"\\ud83d\\ude00":"x"}}', ("\ud800", "\U0001f600"), "x"),
        (b'{"\\ud800":"a","\\uf000":"b","\\ufffd":"c","\\\\ud800":"d"}', ("\ud800",), "a"),
        (b'{"\\ud800":"a","\\uf000":"b","\\ufffd":"c","\\\\ud800":"d"}', ("\\ud800",), "d"),
        (b'{"x":"\\udead","m":[{"c":"\xf0\x9f\x98\x80]}"}]}', ("m", 0, "c"), "\U0001f600]}"),
        (b'{"x":[1e400,[[]],{"y":"\\"]"}],"m":[{"c":["p","q"]}]}', ("m", 0, "c", 1), "q"),
        (b'{"1":["x"]}', ("1", 0), "x"),
        (b'{"":{"":"x"}}', ("", ""), "x"),
    ],
)
def test_a_value_is_found(body: bytes, address: Address, value: Any) -> None:
    """Spacing, duplicate keys, escaped keys, lone surrogates and odd neighbours hide no value."""
    assert text_at(body, address) == value


def test_what_is_not_there_is_not_found() -> None:
    """A missing key, an index past the end and a step into a scalar give no place, and no error."""
    body = b'{"m":[{"c":"x"}]}'
    assert locate(body, [("m", 0, "d")]) == {}
    assert locate(body, [("m", 7, "c")]) == {}
    assert locate(body, [("n",)]) == {}
    assert locate(body, [("m", 0, "c", "x")]) == {}
    assert locate(body, []) == {}


def test_a_body_that_ends_too_early_is_not_understood() -> None:
    """The search never runs past the end of bytes that are no JSON."""
    for body in (b'{"m":[', b'{"m":[{"c":"', b"", b"{"):
        with pytest.raises(NotUnderstoodError):
            locate(body, [("m", 0, "c")])


def test_long_addresses_are_found() -> None:
    """A string 400 levels deep is found, and so is one 100,000 deep."""
    for depth in (400, 100_000):
        body = b'{"k":' * depth + b'"x"' + b"}" * depth
        assert locate(body, [("k",) * depth]) == {("k",) * depth: (5 * depth, 3)}


_KEYS = st.sampled_from(["", "a", "b", "\ud800", "\U0001f600", "\\ud800", "\uf000", '"', "]"])
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(["", "x", "\udfff", '\\"', "[{,:", "漢"])
)
_VALUES = st.recursive(
    _SCALARS,
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(_KEYS, below, max_size=4)),
    max_leaves=30,
)


@given(_VALUES, st.booleans(), st.sampled_from([None, 1]), st.data())
def test_every_value_is_found_where_an_independent_scanner_sees_it(
    value: Any, is_ascii: bool, indent: int | None, data: st.DataObject
) -> None:
    """For any document and any set of its values, both searches give the spans of another scanner."""
    text = json.dumps({"m": value}, ensure_ascii=is_ascii, indent=indent)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not is_ascii else text
    body = text.encode()
    spans = {node.path: (node.start, node.end - node.start) for node in nodes(scan_nodes(body))}
    chosen = data.draw(st.lists(st.sampled_from(sorted(spans, key=repr)), max_size=5, unique=True))
    wanted = [
        path for path in chosen if not any(other != path and path == other[: len(path)] for other in chosen)
    ]
    expected = {path: spans[path] for path in wanted if path}
    branches: dict[str | int, Any] = {}
    for path in expected:
        branch = branches
        for step in path[:-1]:
            branch = branch.setdefault(step, {})
        branch[path[-1]] = path
    assert locate(body, expected) == expected
    if branches:
        assert scan(body, branches) == expected
