"""Ranking by cosine, and the blend with a lexical score."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pinch_server.core.relevance import blend, cosine_scores, least_first, order_by_relevance

QUERY = [1.0, 0.0, 0.0]
Numbers = NDArray[np.float32]
vectors = st.lists(st.floats(-10, 10, width=32), min_size=5, max_size=5)


def seeded(rows: int, columns: int) -> Numbers:
    """Numbers that are the same bits everywhere, since whole numbers and one division make them."""
    digest = hashlib.shake_256(b"relevance").digest(rows * columns * 2)
    whole = np.frombuffer(digest, dtype="<i2").reshape(rows, columns)
    return (whole.astype(np.float32) / np.float32(4096)).astype(np.float32)


def test_hand_built_vectors() -> None:
    """Opposite, then orthogonal, then near-duplicate, then parallel; zero and NaN rank as orthogonal."""
    candidates = [
        [2.0, 0.0, 0.0],  # parallel
        [0.0, 1.0, 0.0],  # orthogonal
        [-3.0, 0.0, 0.0],  # opposite
        [1.0, 0.01, 0.0],  # near-duplicate
        [0.0, 0.0, 0.0],
        [np.nan, 1.0, 0.0],
        [np.inf, 0.0, 0.0],
    ]
    assert order_by_relevance(QUERY, candidates) == [2, 1, 4, 5, 6, 3, 0]
    scores = cosine_scores(QUERY, candidates)
    assert scores[:4].tolist() == pytest.approx([1.0, 0.0, -1.0, 0.99995], abs=1e-6)
    assert np.isnan(scores[4:]).all()


def test_ties_keep_their_order() -> None:
    """Equal cosines stay in order of position."""
    assert order_by_relevance(QUERY, [[1, 0, 0], [5, 0, 0], [0, 1, 0], [0, 0, 9]]) == [2, 3, 0, 1]


@pytest.mark.parametrize("query", [[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0], []])
def test_a_query_without_direction_changes_nothing(query: list[float]) -> None:
    """A zero, missing or non-finite query leaves the candidates in their order."""
    assert order_by_relevance(query, [[1, 2, 3], [-1, 0, 0], [1, 0, 0]]) == [0, 1, 2]


def test_no_candidates() -> None:
    """Nothing to rank is ranked as nothing."""
    assert order_by_relevance(QUERY, []) == []
    assert order_by_relevance(QUERY, np.zeros((0, 3), dtype=np.float32)) == []


def test_another_dimension_is_neutral() -> None:
    """A candidate of another dimension than the query ranks as neutral, whatever the container."""
    assert order_by_relevance(QUERY, [[1, 0, 0], [1, 0], [-1, 0, 0]]) == [2, 1, 0]
    assert order_by_relevance(QUERY, np.ones((2, 4), dtype=np.float32)) == [0, 1]


@pytest.mark.parametrize("size", [1e-42, 1e-30, 1e-10, 1e10, 1e30, 3e38])
def test_length_does_not_matter(size: float) -> None:
    """Very short and very long vectors, whose squares float32 cannot hold, have their cosine all the same."""
    candidates = np.array([[1, 1, 0], [1, 0, 0], [-1, 0, 0]], dtype=np.float32) * np.float32(size)
    scores = cosine_scores(np.array(QUERY, dtype=np.float32) * np.float32(size), candidates)
    assert scores.tolist() == pytest.approx([0.5**0.5, 1.0, -1.0], rel=1e-2)


@given(vectors, st.lists(vectors, min_size=1, max_size=150), st.randoms(use_true_random=False))
def test_company_and_order_do_not_matter(query: list[float], rows: list[list[float]], chance: object) -> None:
    """A candidate scores the same bits alone, in a batch, and in any permutation of it."""
    matrix = np.array(rows, dtype=np.float32)
    together = cosine_scores(query, matrix)
    alone = np.concatenate([cosine_scores(query, row[np.newaxis]) for row in matrix])
    assert together.tobytes() == alone.tobytes()
    permutation = np.random.default_rng(chance.randint(0, 9)).permutation(len(rows))  # type: ignore[attr-defined]
    assert cosine_scores(query, matrix[permutation]).tobytes() == together[permutation].tobytes()
    assert cosine_scores(query, np.asfortranarray(matrix)).tobytes() == together.tobytes()


@given(vectors, st.lists(vectors, max_size=20))
def test_an_order_names_each_candidate_once(query: list[float], rows: list[list[float]]) -> None:
    """Whatever the vectors, every position appears exactly once, by ascending cosine."""
    order = order_by_relevance(query, rows)
    assert sorted(order) == list(range(len(rows)))
    scores = np.nan_to_num(cosine_scores(query, rows))
    assert (np.diff(scores[order]) >= 0).all()


def test_the_bits_are_the_same_everywhere() -> None:
    """Scores of a fixed batch have fixed bits, whatever processor, platform or version computes them."""
    matrix = seeded(301, 768)
    scores = cosine_scores(matrix[0], matrix[1:])
    assert hashlib.sha256(scores.astype("<f4").tobytes()).hexdigest()[:16] == "e2df5c982af3c67f"


def test_a_blend_adds_what_both_say() -> None:
    """Both scores count in units of their own spread, the cosine by its weight."""
    blended = blend([0.0, 10.0], [0.8, 0.6], weight=0.5)
    assert blended.tolist() == pytest.approx([-0.5, 0.5])
    assert least_first(blend([1, 2, 3], [0.9, 0.5, 0.1], weight=0.0)) == [0, 1, 2]
    assert least_first(blend([1, 2, 3], [0.9, 0.5, 0.1], weight=2.0)) == [2, 1, 0]


def test_a_level_score_says_nothing() -> None:
    """A scale on which all candidates are level, rounding aside, adds nothing."""
    nearly = np.float32(0.7) + np.arange(3, dtype=np.float32) * np.float32(6e-8)
    cosine = [0.1, 0.2, 0.3]
    assert blend([5, 5, 5], cosine).tolist() == (np.float32(0.5) * blend(cosine, [0, 0, 0])).tolist()
    assert blend([0, 0, 0], nearly).tolist() == [0, 0, 0]
    assert blend([], []).tolist() == []


def test_a_missing_score_is_neutral() -> None:
    """A missing score counts as the mean of those that are there, and does not move it."""
    blended = blend([1.0, 2.0, 3.0, np.nan], [np.nan, np.nan, np.nan, np.nan])
    assert blended[3] == 0
    assert blended[:3].tolist() == blend([1.0, 2.0, 3.0], [0, 0, 0]).tolist()


@given(st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), max_size=30))
def test_a_blend_is_always_finite(pairs: list[tuple[float, float]]) -> None:
    """Whatever the scores, their blend is a number for each candidate."""
    lexical, cosine = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    blended = blend(lexical, cosine)
    assert blended.shape == (len(pairs),)
    assert np.isfinite(blended).all()
