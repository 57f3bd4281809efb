"""The words of recent texts, so that an event reads only what no earlier one has read."""

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import Final

from pinch_server.core.lexical import Terms, read_terms

MOST_WORDS: Final = 400_000
"""Distinct words kept in all, each counted once for every text that has it: some 50 MB."""
_ENTRY_WORDS: Final = 4


class RecentTerms:
    """The texts used last, as the lexical score sees them. Shared by the threads of a worker.

    Args:
        most_words: Most distinct words kept, summed over the texts.
    """

    def __init__(self, most_words: int = MOST_WORDS) -> None:
        self._most_words = most_words
        self._words = 0
        self._kept: OrderedDict[bytes, Terms] = OrderedDict()
        self._lock = Lock()

    def of(self, text: str) -> Terms:
        """The words of a text; read anew when it was not used lately."""
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        terms = read_terms(text)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = terms
                self._words += _size(terms)
            while self._words > self._most_words:
                _, oldest = self._kept.popitem(last=False)
                self._words -= _size(oldest)
        return terms


def _size(terms: Terms) -> int:
    return len(terms.counts) + _ENTRY_WORDS
