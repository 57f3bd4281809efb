"""The ways of ranking that are compared."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Final

import toktok

from bench.ranking.question import Question
from pinch_server.core.embedding import Unavailable
from pinch_server.core.excerpts import embedding_excerpt
from pinch_server.core.lexical import lexical_scores
from pinch_server.core.relevance import Scores, blend, cosine_scores
from pinch_server.embeddings.provider import CachedEmbedder

_SECONDS: Final = 600.0


class Methods:
    """Scores the candidates of a question in each way.

    Args:
        embedder: Makes the vectors.
        b: BM25's account of length.
        weight: The cosine's in the blend.
    """

    def __init__(self, embedder: CachedEmbedder, *, b: float, weight: float) -> None:
        self._embedder = embedder
        self._b = b
        self._weight = weight
        self._dice = random.Random(0)

    def scores(self, question: Question) -> Mapping[str, list[float]]:
        """The scores by method, higher meaning more relevant."""
        lexical = lexical_scores(question.query, question.candidates, b=self._b)
        cosine = self._cosine(question)
        return {
            "hybrid": blend(lexical, cosine, self._weight).tolist(),
            "lexical": lexical.tolist(),
            "cosine": cosine.tolist(),
            "random": [self._dice.random() for _ in question.candidates],
        }

    def _cosine(self, question: Question) -> Scores:
        """The cosines.

        Raises:
            RuntimeError: The embedder gave no vectors.
        """
        texts = [embedding_excerpt(text, _tokens) for text in (question.query, *question.candidates)]
        answer = self._embedder.embed(texts, _SECONDS)
        if isinstance(answer, Unavailable):
            raise RuntimeError(f"no embeddings: {answer.fault} {answer.detail}")  # noqa: TRY004 no type is wrong
        scores = cosine_scores(answer.rows[0], answer.rows[1:])
        scores[scores != scores] = 0.0  # noqa: PLR0124 NaN alone differs from itself
        return scores


def _tokens(text: str) -> int:
    count: int = toktok.batch_count([text], "o200k_base", 1)[0]
    return count
