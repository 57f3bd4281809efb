"""A lexical score of texts against a query: BM25 over tokens that split identifiers.

`parseConfig`, `parse_config` and `parse config` share their tokens, paths and numbers fall into their parts,
and scripts written without spaces are read as pairs of characters. The Unicode classes are those of the
pinned `regex` package; only the case of letters younger than Unicode 14 follows the interpreter's own table.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import regex

from pinch_server.core.exact import natural_log
from pinch_server.core.excerpts import excerpt
from pinch_server.core.relevance import Scores

READ_CHARS: Final = 200_000
"""Most code points read of one text: of a longer one, an excerpt. Bounds the worst text to some 50 ms."""

_TOKEN_CHARS: Final = 64
# Runs of capitals up to the one that begins a word (HTTP|Server), words, digits; none looks back further
# than a letter.
_ASCII: Final = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+(?![a-z])|[0-9]+", re.ASCII)
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u3005\u30fc"
_UNICODE: Final = regex.compile(
    rf"(?V1)[\p{{Ll}}\p{{M}}]++|\p{{Lu}}[\p{{Ll}}\p{{M}}]++|\p{{Lu}}+(?![\p{{Ll}}\p{{M}}])|\p{{N}}++|[{_UNSPACED}]++"
    rf"|[[\p{{L}}\p{{M}}]--[\p{{Lu}}\p{{Ll}}{_UNSPACED}]]++"
)
_IS_UNSPACED: Final = regex.compile(rf"[{_UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Terms:
    """A text as the score sees it; made once, scored against many queries.

    Attributes:
        counts: How often each token occurs.
        length: Tokens in all.
    """

    counts: Mapping[str, int]
    length: int


def read_terms(text: str) -> Terms:
    """Reads a text's tokens: at most `READ_CHARS` of it, in time linear in what is read."""
    counts = Counter(tokens(excerpt(text, READ_CHARS)))
    return Terms(counts, counts.total())


def tokens(text: str) -> list[str]:
    """The tokens of a text, in order and in small letters; those over 64 code points are cut."""
    pattern = _ASCII if text.isascii() else _UNICODE
    found: list[str] = pattern.findall(text)
    lowered = [token.lower() for token in found]
    return lowered if text.isascii() else list(_with_pairs(lowered))


def lexical_scores(
    query: str | Terms,
    candidates: Sequence[str | Terms],
    *,
    b: float = 0.75,
    k1: float = 1.2,
    corpus: Sequence[str | Terms] | None = None,
) -> Scores:
    """The BM25 score of each candidate against the query.

    Args:
        query: What is asked for; each of its tokens counts once.
        candidates: The texts to score.
        b: How far long texts are held to account for their length, from 0 (not at all) to 1.
        k1: How soon repetition of a token stops to count.
        corpus: The texts that say how rare a token is and how long a text usually is, for example all tool
            results before the event; None for the candidates themselves.

    Returns:
        A score each, at least 0; 0 where no token of the query occurs.
    """
    asked = sorted((query if isinstance(query, Terms) else read_terms(query)).counts)
    documents = [_terms(candidate) for candidate in candidates]
    known = documents if corpus is None else [_terms(text) for text in corpus]
    total = sum(document.length for document in known)
    mean_length = total / len(known) if total else 1.0
    norms = [k1 * (1.0 - b + b * document.length / mean_length) for document in documents]
    scores = [0.0] * len(documents)
    for token in asked:
        counts = [document.counts.get(token, 0) for document in documents]
        if not any(counts):
            continue
        holders = sum(token in text.counts for text in known)
        rarity = natural_log(1.0 + (max(len(known) - holders, 0) + 0.5) / (holders + 0.5))
        for position, count in enumerate(counts):
            if count:
                scores[position] += rarity * count * (k1 + 1.0) / (count + norms[position])
    return np.array(scores, dtype=np.float32)


def _terms(text: str | Terms) -> Terms:
    return text if isinstance(text, Terms) else read_terms(text)


def _with_pairs(found: list[str]) -> Iterator[str]:
    """The tokens, those of scripts without spaces as overlapping pairs of characters."""
    for token in found:
        if len(token) > 1 and _IS_UNSPACED.match(token):
            yield from (first + second for first, second in pairwise(token))
        else:
            yield token[:_TOKEN_CHARS]
