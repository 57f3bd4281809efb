"""The query of an event, and the order that scores make."""

import numpy as np
import pytest

from pinch_server.core.chat import read_chat
from pinch_server.core.lexical import read_terms
from pinch_server.core.limits import Stability
from pinch_server.core.plan import Ranking
from pinch_server.core.ranking import QUERY_CHARS, QUERY_OUTPUTS, least_relevant_first, ranking_query
from pinch_server.core.scoring import Scoring
from tests.core.builders import called, result, said, user

QUERY = read_terms("parse the config")
TEXTS = [read_terms(text) for text in ("def parse_config(): ...", "rain and snow", "config = 1")]


def test_a_query_is_the_last_turn_and_the_models_newest_words() -> None:
    """What the user asked last comes first, then the newest outputs and arguments; tool output never."""
    chat = [
        user("old question"),
        said("an answer"),
        user("the question"),
        called("grep"),
        result("grep", "OUTPUT"),
    ]
    query = ranking_query(read_chat(chat), len(chat))
    assert query.splitlines() == ["the question", "", "{}", "an answer"]


def test_a_query_knows_nothing_of_what_comes_after_the_event() -> None:
    """Only what stands before the event counts."""
    chat = [user("first"), said("one"), user("second"), said("two")]
    messages = read_chat(chat)
    assert ranking_query(messages, 2) == ranking_query(messages[:2], 2)
    assert "second" not in ranking_query(messages, 2)


def test_a_query_is_bounded() -> None:
    """Few outputs are read, and long ones in part."""
    letters = "abcdefghijklmnopqrst"
    chat = [user("z" * 50_000), *(said(f"{letter} " * 20_000) for letter in letters)]
    query = ranking_query(read_chat(chat), len(chat))
    assert len(query) <= 2 * QUERY_CHARS + 1
    assert not set(letters[:-QUERY_OUTPUTS]) & set(query)


def test_nobody_has_spoken() -> None:
    """A conversation without words has a blank query, and its order is that of appearance."""
    assert ranking_query(read_chat([result("x", "y")]), 1) == ""
    assert least_relevant_first(Scoring.LEXICAL, read_terms(""), TEXTS) == [0, 1, 2]


def test_each_scoring_has_its_order() -> None:
    """Age keeps the order, words put the stranger first, cosines say what they say, the blend uses both."""
    vectors = (np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]]))
    assert least_relevant_first(Scoring.AGE, QUERY, TEXTS, vectors) == [0, 1, 2]
    assert least_relevant_first(Scoring.LEXICAL, QUERY, TEXTS, vectors) == [1, 2, 0]
    assert least_relevant_first(Scoring.COSINE, QUERY, TEXTS, vectors) == [0, 2, 1]
    assert sorted(least_relevant_first(Scoring.HYBRID, QUERY, TEXTS, vectors)) == [0, 1, 2]


@pytest.mark.parametrize("scoring", [Scoring.COSINE, Scoring.HYBRID])
def test_words_rank_where_vectors_are_missing(scoring: Scoring) -> None:
    """Without vectors, what would use them ranks as the words alone do."""
    assert least_relevant_first(scoring, QUERY, TEXTS) == least_relevant_first(Scoring.LEXICAL, QUERY, TEXTS)


@pytest.mark.parametrize("scoring", Scoring)
def test_only_auto_depends_on_the_stability(scoring: Scoring) -> None:
    """Auto means age under replay and both signals per call; a scoring that was chosen is that one."""
    chosen = {stability: scoring.under(stability) for stability in Stability}
    if scoring is Scoring.AUTO:
        assert chosen == {Stability.REPLAY: Scoring.AGE, Stability.PER_CALL: Scoring.HYBRID}
    else:
        assert set(chosen.values()) == {scoring}
        assert scoring.ranking in Ranking
