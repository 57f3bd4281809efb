"""How well each candidate answers a query: cosines of embeddings, and their blend with a lexical score.

All results are the same bits on any platform and for any company: scoring a batch gives each row what
scoring it alone gives, because every sum is folded in an order of its own (see `exact`) and no product goes
through BLAS.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pinch_server.core.exact import fold_columns, fold_sum

Vector = NDArray[np.float32]
"""One embedding."""
Scores = NDArray[np.float32]
"""One number for each candidate; NaN where there is none."""

LEXICAL_WEIGHT: Final = 1.0
"""Weight of the lexical score in the blend; the cosine's is an argument."""
COSINE_WEIGHT: Final = 0.5
"""Weight of the cosine at which the blend ranked best on seven sets of real text."""

# Rows small enough that products and operands stay in a core's cache together.
_ROWS: Final = 64
# A squared length outside these bounds may have lost digits, or all of itself, in float32.
_LEAST: Final = np.float32(1e-18)
_MOST: Final = np.float32(1e30)
# Spread below this, relative to the size of the scores, is rounding and not information.
_NOISE: Final = 1e-6


def order_by_relevance(
    query_embedding: ArrayLike, candidate_embeddings: Sequence[ArrayLike] | ArrayLike
) -> list[int]:
    """Positions of the candidates, least relevant first, by the cosine of their embeddings with the query's.

    Args:
        query_embedding: The query's embedding; need not be normalised.
        candidate_embeddings: One embedding each, as rows of an array or as a list.

    Returns:
        Each position once; equal cosines in order of position. A candidate whose embedding is zero, not
        finite or of another dimension ranks as neutral (cosine 0), and a query like that makes all of them
        neutral.
    """
    return least_first(cosine_scores(query_embedding, candidate_embeddings))


def least_first(scores: ArrayLike) -> list[int]:
    """Positions in ascending order of score, equal ones by position; what has no score (NaN) counts as 0."""
    values = np.nan_to_num(np.asarray(scores, dtype=np.float32), nan=0.0)
    order: list[int] = np.argsort(values, kind="stable").tolist()
    return order


def cosine_scores(
    query_embedding: ArrayLike, candidate_embeddings: Sequence[ArrayLike] | ArrayLike
) -> Scores:
    """The cosine of each candidate's embedding with the query's.

    Returns:
        Cosines from -1 to 1, NaN where the query's or the candidate's embedding is zero, not finite or of
        another dimension than the query's.
    """
    query = np.asarray(query_embedding, dtype=np.float32).reshape(-1)
    candidates = _matrix(candidate_embeddings, len(query))
    scores = np.full(len(candidates), np.nan, dtype=np.float32)
    if len(query) == 0 or not np.isfinite(query).all() or not query.any():
        return scores
    query = _near_one(query[np.newaxis])[0]
    query_length = np.sqrt(fold_sum(query * query))
    scratch = np.empty((2, min(_ROWS, len(candidates)), len(query)), dtype=np.float32)
    for start in range(0, len(candidates), _ROWS):
        rows = candidates[start : start + _ROWS]
        dots, squares = _products(query, rows, scratch)
        extreme = ~((squares > _LEAST) & (squares < _MOST))
        if extreme.any():
            dots[extreme], squares[extreme] = _products(query, _near_one(rows[extreme]), scratch)
        usable = np.isfinite(squares) & (squares > 0)
        lengths = np.sqrt(np.where(usable, squares, np.float32(1)))
        cosines = np.clip(dots / (lengths * query_length), np.float32(-1), np.float32(1))
        scores[start : start + _ROWS] = np.where(usable, cosines, np.float32(np.nan))
    return scores


def _products(
    query: Vector, rows: NDArray[np.float32], scratch: NDArray[np.float32]
) -> tuple[Vector, Vector]:
    """The dot product of each row with the query, and with itself; not finite where a row is not."""
    products = scratch[:, : len(rows)]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        np.multiply(rows, query, out=products[0])
        np.multiply(rows, rows, out=products[1])
        dots, squares = fold_columns(products)
    return dots, squares


def blend(lexical: ArrayLike, cosine: ArrayLike, weight: float = COSINE_WEIGHT) -> Scores:
    """The sum of both scores after each was brought to mean 0 and deviation 1 over the candidates.

    Args:
        lexical: A lexical score each; NaN where there is none.
        cosine: A cosine each; NaN where there is none.
        weight: Of the cosine, the lexical score's being 1.

    Returns:
        The blend, without NaN: a missing score is worth its scale's mean. A scale on which all candidates are
        level says nothing and adds nothing.
    """
    return _standardised(lexical) + np.float32(weight) * _standardised(cosine)


def _standardised(scores: ArrayLike) -> Scores:
    # In float64, so that float32 scores lose nothing here; rounded once, at the end.
    values = np.asarray(scores, dtype=np.float64).reshape(-1)
    known = np.isfinite(values)
    count = int(known.sum())
    result = np.zeros(len(values), dtype=np.float32)
    if count == 0:
        return result
    kept = values[known]
    mean = fold_sum(kept.copy()) / count
    centred = kept - mean
    deviation = np.sqrt(fold_sum(centred * centred) / count)
    if deviation > _NOISE * np.abs(kept).max():
        result[known] = (centred / deviation).astype(np.float32)
    return result


def _matrix(embeddings: Sequence[ArrayLike] | ArrayLike, dimension: int) -> NDArray[np.float32]:
    """The embeddings as rows; one of another dimension becomes a row of NaN."""
    if isinstance(embeddings, np.ndarray) and embeddings.ndim == 2 and embeddings.shape[1] == dimension:
        return embeddings.astype(np.float32, copy=False)
    listed: Sequence[ArrayLike] = embeddings  # type: ignore[assignment]
    rows = np.full((len(listed), dimension), np.nan, dtype=np.float32)
    for row, embedding in zip(rows, listed, strict=True):
        vector = np.asarray(embedding, dtype=np.float32).reshape(-1)
        if len(vector) == dimension:
            row[:] = vector
    return rows


def _near_one(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows, each brought near 1 by a power of two, which changes neither its direction nor its digits."""
    largest = np.abs(rows).max(axis=1)
    _, exponents = np.frexp(np.where(np.isfinite(largest), largest, np.float32(1)))
    return np.ldexp(rows, -exponents[:, np.newaxis])
