"""A small BM25 of the bench's own, so that the ranking a baseline uses never moves with the product's."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(r"[^\W_]+")
_K1: Final = 1.2
_B: Final = 0.75
_READ_CHARS: Final = 200_000


@lru_cache(maxsize=20_000)
def _terms(text: str) -> Counter[str]:
    return Counter(_TOKEN.findall(text[:_READ_CHARS].lower()))


def bm25(query: str, texts: Sequence[str]) -> list[float]:
    """The score of each text against the query, the texts themselves being the corpus."""
    documents = [_terms(text) for text in texts]
    lengths = [document.total() for document in documents]
    mean = sum(lengths) / len(lengths) if lengths and sum(lengths) else 1.0
    scores = [0.0] * len(documents)
    for token in sorted(set(_terms(query))):
        holders = sum(token in document for document in documents)
        if not holders:
            continue
        rarity = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
        for index, document in enumerate(documents):
            count = document.get(token, 0)
            if count:
                norm = _K1 * (1 - _B + _B * lengths[index] / mean)
                scores[index] += rarity * count * (_K1 + 1) / (count + norm)
    return scores
