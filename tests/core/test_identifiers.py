"""What counts as an identifier."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.identifiers import identifiers, marked, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see src/app.py, then rerun", ["src/app.py"]),
        ("parse_config and parseConfig and PARSER", ["parse_config", "parseConfig"]),
        ("commit 9f8e7d6c at 10:42:07.", ["9f8e7d6c", "10:42:07"]),
        ("12345 123456", ["123456"]),
        ('{"id":"a1b2c3","n":4021337}', ["a1b2c3", "4021337"]),
        ("\x1b[31mserver.log\x1b[0m", ["31mserver.log"]),
        ("漢字app.py漢字", ["app.py"]),
        ("plain prose has Capitals and WORDS only", []),
        ("...---///:::", []),
        ("", []),
    ],
)
def test_identifiers(text: str, expected: list[str]) -> None:
    """An identifier has six characters or more and a separator, a digit or an inner capital."""
    assert identifiers(text) == expected


@given(st.text(alphabet="abcXYZ019_./:- \n漢\x1b", max_size=300))
def test_each_once_and_as_it_stands(text: str) -> None:
    """Identifiers come once each, in order of first appearance, on one line and as they stand in the text."""
    found = identifiers(text)
    assert len(found) == len(set(found))
    assert found == marked(words(text))
    places = [re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}", text) for word in found]
    assert all(places)
    assert all(len(word) >= 6 and "\n" not in word for word in found)


@pytest.mark.parametrize("unit", ["/:.-", "a", "a/", "abcde/", "a" + "/" * 1_000, "abcde" + "-" * 500 + " "])
def test_a_megabyte_of_separators(unit: str) -> None:
    """No text makes the reading go back and forth: a megabyte of separators is read like any other."""
    assert all(len(word) >= 6 for word in words(unit * (1_000_000 // len(unit))))
