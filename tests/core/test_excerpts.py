"""What of a long text is embedded."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.excerpts import embedding_excerpt, excerpt

LINES = "\n".join(f"line {number} of the log" for number in range(5_000))


def test_a_short_text_is_its_own_excerpt() -> None:
    """Nothing is cut from a text that fits."""
    assert excerpt("short", 5) == "short"


def test_an_excerpt_holds_head_middle_and_tail() -> None:
    """An excerpt begins as the text does, ends as it does, and has pieces of each quarter between."""
    cut = excerpt(LINES, 4_000)
    assert cut.startswith("line 0 of the log\nline 1 of")
    assert cut.endswith("line 4999 of the log")
    numbers = [int(found) for found in re.findall(r"^line (\d+) of the log$", cut, re.MULTILINE)]
    assert {number // 1_250 for number in numbers if 100 < number < 4_900} == {0, 1, 2, 3}


@given(st.text(max_size=3_000), st.integers(0, 1_500))
def test_an_excerpt_is_never_too_long(text: str, most: int) -> None:
    """An excerpt has at most the characters that it may have, and is the text itself when that fits."""
    cut = excerpt(text, most)
    assert len(cut) <= most
    if len(text) <= most:
        assert cut == text


@given(st.text(min_size=200, max_size=3_000, alphabet="abc \n"), st.integers(64, 199))
def test_each_piece_stands_in_the_text(text: str, most: int) -> None:
    """Every line of an excerpt is a piece of the text, in the text's own words."""
    assert all(line in text for line in excerpt(text, most).split("\n"))


def test_dense_text_is_cut_to_its_tokens() -> None:
    """Text of which every character is a token ends up within the tokens, prose within the characters."""
    assert len(embedding_excerpt("x" * 100_000, len, max_tokens=2_000)) <= 2_000
    assert 7_000 < len(embedding_excerpt(LINES, lambda text: len(text) // 5)) <= 8_000


def test_a_counter_that_never_agrees_ends() -> None:
    """An excerpt is found, or nothing is left, whatever the counter says."""
    assert embedding_excerpt("x" * 1_000, lambda _: 10**9) == ""
