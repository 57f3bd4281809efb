"""Cuts the texts of one round trip into requests that every known server accepts."""

from collections.abc import Sequence
from typing import Final

MOST_TEXTS: Final = 32
"""Texts of one request; TEI refuses more by default."""
MOST_BYTES: Final = 1_500_000
"""Bytes of their texts; TEI refuses bodies of 2 MB, and JSON needs room for escapes."""


def batches(
    texts: Sequence[str], *, most_texts: int = MOST_TEXTS, most_bytes: int = MOST_BYTES
) -> list[range]:
    """The positions of each request's texts: consecutive, and together all of them.

    Args:
        texts: The texts of the round trip.
        most_texts: Most texts of one request.
        most_bytes: Most bytes of the texts of one request; a longer text gets a request of its own.
    """
    found: list[range] = []
    start = held = 0
    for position, text in enumerate(texts):
        size = len(text.encode("utf-8", "replace"))
        if position > start and (position - start >= most_texts or held + size > most_bytes):
            found.append(range(start, position))
            start, held = position, 0
        held += size
    if start < len(texts):
        found.append(range(start, len(texts)))
    return found
