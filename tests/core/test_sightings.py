"""Reading many texts at once finds what reading each for itself would."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinch_server.core.batch import FAILURE_WORDS
from pinch_server.core.codes import STRETCH_CHARS
from pinch_server.core.identifiers import identifiers, marked, words
from pinch_server.core.sightings import Sightings, read_texts

PIECES = st.sampled_from(
    ["a", "B", "9", "_", ".", "/", "::", "--", " ", "\n", "漢", "\x1b[31m", "src/app.py", "parseConfig",
     "WORDS", "/" * 9, "-" * 70, "x" * 30, "y" * 80, "Z" * 70 + "a", "q" * 40 + "7" + "q" * 9, "\ud800", "\0"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)
FAILURE = re.compile(rf"(?:{'|'.join(FAILURE_WORDS)})(?![A-Za-z0-9_])", re.IGNORECASE | re.ASCII)


def found_in(text: str, found: Sightings) -> list[str]:
    """The identifiers of a text, wherever they stand."""
    return [text[start:end] for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True)]


@settings(max_examples=300)
@given(st.lists(TEXTS, max_size=6))
def test_reading_at_once_is_reading_each(texts: list[str]) -> None:
    """Every identifier is found where it stands, in each of the texts, as the definition has it."""
    read, hashes = read_texts(texts)
    everywhere = set[str]()
    for text, found in zip(texts, read, strict=True):
        every = [word for word in words(text) if marked([word])]
        assert found_in(text, found) == every
        assert [every[row] for row in found.each().tolist()] == identifiers(text)
        everywhere.update(every)
    assert len(hashes) <= len(everywhere)


@given(st.lists(st.text(alphabet="ab1_./ \n", max_size=60), max_size=6))
def test_one_name_for_one_identifier(texts: list[str]) -> None:
    """The same identifier has the same number in all texts, and different ones have different numbers."""
    read, hashes = read_texts(texts)
    name_of: dict[str, int] = {}
    for text, found in zip(texts, read, strict=True):
        last: dict[str, int] = {}
        for row, word in enumerate(found_in(text, found)):
            assert name_of.setdefault(word, int(found.names[row])) == found.names[row]
            assert found.previous[row] == last.get(word, -1)
            assert found_in(text, found)[int(found.firsts[row])] == word
            last[word] = int(found.starts[row])
    assert len(set(name_of.values())) == len(name_of) == len(set(hashes.tolist()))


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))
def test_parts_are_known_again(one: list[str], other: list[str]) -> None:
    """Two identifiers share the hash of a part exactly when they share a word of four characters or more."""
    texts = [*one, *other]
    read, _ = read_texts(texts)
    hashes: dict[str, int] = {}
    for text, found in zip(texts, read, strict=True):
        each = found.each().tolist()
        expected = [
            (row, part)
            for row in each
            for part in re.split(r"[./:\-]+", found_in(text, found)[row])
            if len(part) >= 4
        ]
        assert found.part_rows.tolist() == [row for row, _ in expected]
        for (_, part), value in zip(expected, found.part_hashes.tolist(), strict=True):
            assert hashes.setdefault(part, value) == value
    assert len(set(hashes.values())) == len(hashes)


@given(
    st.lists(st.one_of(PIECES, st.sampled_from([*FAILURE_WORDS, "Error", "FAILED", "errors"])), max_size=20)
)
def test_words_of_failure(pieces: list[str]) -> None:
    """Words that end in a word of failure, in letters of any size, are told in order."""
    text = "".join(pieces)
    (found,), _ = read_texts([text])
    assert found.failures.tolist() == [match.end() - 1 for match in FAILURE.finditer(text)][:64]


@pytest.mark.parametrize(
    "unit", ["a_1/", "x", "a" + "/" * 99, "a--------b ", "errors error ", "漢字a_1234 ", "漢字", "ab_c,de_f"]
)
def test_long_texts_are_read_in_batches(unit: str) -> None:
    """A text longer than a batch, among others, is read whole."""
    long = unit * (3 * STRETCH_CHARS // 2 // len(unit))
    texts = ["first/one", long, "first/one second_two", long]
    read, _ = read_texts(texts)
    for text, found in zip(texts, read, strict=True):
        assert found_in(text, found) == [word for word in words(text) if marked([word])]
    assert read[0].names[0] == read[2].names[0]
    assert read[1].names.tolist() == read[3].names.tolist()


def test_nothing_in_nothing() -> None:
    """No text, and empty ones, hold nothing."""
    read, hashes = read_texts([])
    assert (read, hashes.size) == ([], 0)
    read, hashes = read_texts(["", "", "\n"])
    assert [len(found.starts) for found in read] == [0, 0, 0]
    assert hashes.size == 0
