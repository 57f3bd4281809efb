"""Tokens and BM25."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.lexical import READ_CHARS, lexical_scores, read_terms, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseHTTPServer2Config", ["parse", "http", "server", "2", "config"]),
        ("parse_http-server.config", ["parse", "http", "server", "config"]),
        ("/usr/lib/x86_64/libc.so.6", ["usr", "lib", "x", "86", "64", "libc", "so", "6"]),
        ("MAX_RETRIES=3", ["max", "retries", "3"]),
        ("École Über naïve Straße", ["école", "über", "naïve", "straße"]),
        ("parseÉtatHTTP", ["parse", "état", "http"]),
        ("漢字テスト", ["漢字", "字テ", "テス", "スト"]),
        ("字 한국어", ["字", "한국", "국어"]),
        ("привет Мир", ["привет", "мир"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("١٢٣ apples", ["١٢٣", "apples"]),
        ("", []),
        ("\0 \n --- \U0001f600 \ud83d", []),
    ],
)
def test_texts_fall_into_tokens(text: str, expected: list[str]) -> None:
    """Identifiers, paths and numbers fall into their parts; scripts without spaces into pairs."""
    assert tokens(text) == expected


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_text_has_the_same_tokens_beside_other_scripts(text: str) -> None:
    """ASCII text falls into the same tokens whether or not the text around it is ASCII."""
    assert tokens(f"é {text}") == ["é", *tokens(text)]


@given(st.text())
def test_tokens_are_short_and_not_empty(text: str) -> None:
    """Any text is read, and no token is empty or without bound."""
    assert all(0 < len(token) <= 80 for token in tokens(text))


def test_scores_are_bm25() -> None:
    """The score is the BM25 formula, by hand for one token."""
    scores = lexical_scores("cat", ["cat cat dog", "dog", "a b c d"])
    rarity = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    length = 1 - 0.75 + 0.75 * 3 / (8 / 3)
    assert scores.tolist() == pytest.approx([rarity * 2 * 2.2 / (2 + 1.2 * length), 0, 0])


def test_length_counts_unless_told_not_to() -> None:
    """With b = 0 a long text is not held to account for its length."""
    texts = ["cat", "cat " + "dog " * 50]
    short, long = lexical_scores("cat", texts)
    assert short > long
    short, long = lexical_scores("cat", texts, b=0)
    assert short == long > 0


def test_rare_tokens_weigh_more() -> None:
    """A token that few texts hold outweighs one that many hold."""
    first, second, third = lexical_scores("common rare", ["common x", "rare x", "common y"])
    assert second > first == third


def test_rarity_may_come_from_elsewhere() -> None:
    """A corpus says how rare a token is; the candidates need not."""
    inside = lexical_scores("rare common", ["rare", "common"])
    assert inside[0] == inside[1]
    rare, common = lexical_scores("rare common", ["rare", "common"], corpus=["common"] * 9 + ["rare"])
    assert rare > common


def test_read_terms_score_like_their_texts() -> None:
    """A text read once scores as the text itself."""
    texts = ["the parser of settings", "parseSettings()", "nothing"]
    read = [read_terms(text) for text in texts]
    assert (
        lexical_scores(read_terms("parse settings"), read).tolist()
        == lexical_scores("parse settings", texts).tolist()
    )


@given(st.lists(st.text(), max_size=8), st.text(), st.permutations(range(8)))
def test_each_candidate_has_its_own_score(texts: list[str], query: str, permutation: list[int]) -> None:
    """Scores are finite, not negative, and move with their candidates when these are permuted."""
    order = [index for index in permutation if index < len(texts)]
    scores = lexical_scores(query, texts)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
    assert lexical_scores(query, [texts[index] for index in order]).tolist() == scores[order].tolist()


@pytest.mark.parametrize(
    "piece",
    ["a", "A", "Aa", "aB", "1", " ", "\0", "é", "É", "Éa", "漢字", "\u0301", "\U0001f600", "\ud83d", "_"],
)
def test_a_megabyte_without_words_is_read_in_part(piece: str) -> None:
    """Of a very long text at most so much is read, whatever it is made of."""
    assert read_terms(piece * (1_000_000 // len(piece))).length <= READ_CHARS
