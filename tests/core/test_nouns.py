"""Counts with their nouns."""

import pytest

from pinch_server.core.nouns import counted


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 calls"), (1, "1 call"), (2, "2 calls"), (1_000, "1,000 calls")]
)
def test_one_is_singular(count: int, words: str) -> None:
    """One is told in the singular, all else in the plural, thousands apart."""
    assert counted(count, "call") == words
