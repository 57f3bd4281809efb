"""Shortening without a model."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.extraction.derivation import is_subsequence
from pinch_server.core.extraction.notes import without_notes
from pinch_server.core.extraction.projection import project


def test_json_keeps_its_telling_keys() -> None:
    """Keys that name an identity, a state, a fault or a time stay, and those that hold a word to be kept."""
    body = """{"userId": 7, "width": 3, "valid": true, "status": {"code": 1, "x": [1.50]}, "grid": 1,
        "rows": [{"id": 1e3, "blob": "zzz"}, {"blob": "see src/app.py"}], "total": 12345678901234567890.10}"""
    kept = '{"userId":7,"status":{"code":1,"x":[1.50]},"rows":[{"id":1e3},{"blob":"see src/app.py"}]}'
    assert project(body, ("src/app.py",), 4_000) == kept


def test_a_long_string_is_cut_with_a_note() -> None:
    """A string beyond the cap says how many characters it lost; without a cap it stays."""
    body = json.dumps({"error": "x" * 50})
    assert project(body, (), 10) == '{"error":"' + "x" * 10 + '... 40 characters elided ..."}'
    assert project(body, (), 0) == json.dumps({"error": "x" * 50}, separators=(",", ":"))


def test_text_keeps_a_window_around_what_was_named() -> None:
    """The first line with a word to be kept is in the window, a quarter of which lies before it."""
    lines = [f"row {i:04d} is here" for i in range(500)]
    body = "\n".join(lines)
    shown = project(body, ("0250",), 400)
    assert shown is not None
    head, *middle, tail = shown.split("\n")
    assert middle == lines[245:268]
    assert head == f"... {245 * 17:,} characters elided ..."
    assert tail == f"... {len(body) - 268 * 17:,} characters elided ..."


def test_without_a_named_line_the_window_is_the_head() -> None:
    """Where nothing was named the window begins at the top, without a note there."""
    shown = project("first\n" + "next line\n" * 100, (), 30)
    assert shown == "first\nnext line\nnext line\n... 980 characters elided ..."


def test_a_line_longer_than_the_window_is_cut_between_characters() -> None:
    """A single line is cut at the cap, never within a grapheme cluster."""
    shown = project("e\u0301" * 100, (), 11)
    assert (
        shown == "e\u0301" * 5 + "... 190 characters elided ..."
        or shown == "e\u0301" * 5 + "\n... 190 characters elided ..."
    )


@pytest.mark.parametrize("body", ["plain text 12345", "12345", '"a string"', "{not json", "null"])
def test_without_a_window_text_gives_nothing(body: str) -> None:
    """Where the window is withheld, what is no JSON container has no projection, numbers least of all."""
    assert project(body, (), 0) is None


def test_keys_that_come_twice_stay_twice() -> None:
    """A JSON object is written as it was, with a key that it repeats."""
    assert project('{"id":1,"id":2,"x":0}', (), 0) == '{"id":1,"id":2}'


def test_deep_json_is_text() -> None:
    """JSON too deep to walk is a window of text, never an exception."""
    assert project("[" * 100_000, (), 100) is not None
    assert project("[" * 3_000 + "]" * 3_000, (), 100) is not None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "name", "x", "y"]), inner)
    ),
    max_leaves=20,
)


@given(value=values, indent=st.sampled_from([None, 2]), ascii_only=st.booleans())
def test_any_json_keeps_only_what_it_has(value: object, indent: int | None, ascii_only: bool) -> None:
    """The projection of any JSON container is a part of it."""
    body = json.dumps([value], indent=indent, ensure_ascii=ascii_only)
    part = project(body, ("x",), 0)
    assert part is not None
    assert is_subsequence(body, part)


@given(body=st.text(st.sampled_from("ab \n\r漢é"), max_size=300), max_chars=st.integers(1, 80))
def test_any_text_keeps_a_window_of_it(body: str, max_chars: int) -> None:
    """The window of any text is a part of it, no longer than the cap but for its last character's cluster."""
    shown = project(body, ("b",), max_chars)
    assert shown is not None
    window = without_notes(shown)
    assert window in body
    assert len(window) <= max_chars
