"""The form in which an extracted result is sent, and how it is known again for what it is.

What a filter left, its summary, and a line that says how much is gone. As with an elision, the shape alone
tells: a pruned conversation that comes back is not pruned again. Without those lines its length tells: it is
never so long that it would be elided.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from pinch_server.core.extraction.notes import SUMMARY_CHARS
from pinch_server.core.limits import PLAIN_KEPT_CHARS

SLACK_CHARS: Final = 400
"""What an excerpt may exceed its share by: its markers, and what cuts moved."""
MOST_CHARS: Final = PLAIN_KEPT_CHARS + SLACK_CHARS
"""Longest text that is sent as an extracted result, and known for one when it comes back (code points)."""
_CLOSING: Final = re.compile(
    r"(?:\A|\n)\[\.\.\.([1-9][0-9]{0,2}(?:,[0-9]{3})*) of ([1-9][0-9]{0,2}(?:,[0-9]{3})*) chars trimmed"
    r" by a filter(?:; the whole: pinch expand [a-z2-7]{24})?\.\.\.\]\Z"
)


class Marking(StrEnum):
    """What stands under an extracted result."""

    FULL = "full"
    """The summary, how much is gone, and where originals are kept how to get the whole."""
    SUMMARY = "summary"
    """The summary and how much is gone."""
    OFF = "off"
    """Nothing: the agent is not told."""


def extracted(
    original: str,
    projected: str,
    summary: str = "",
    reference: str = "",
    marking: Marking = Marking.FULL,
) -> str:
    """An extracted result as it is sent.

    Args:
        original: The result as it came.
        projected: What a filter left of it.
        summary: One line on what is gone; empty for none.
        reference: Names the original; empty where none is kept.
        marking: What stands under it.
    """
    kept = projected.rstrip("\n")
    if marking is Marking.OFF:
        return kept
    said = " ".join(summary.split())[:SUMMARY_CHARS]
    removed = max(1, len(original) - len(kept))
    whole = f"; the whole: pinch expand {reference}" if reference and marking is Marking.FULL else ""
    closing = f"[...{removed:,} of {len(original):,} chars trimmed by a filter{whole}...]"
    return "\n".join(line for line in (kept, f"[{said}]" if said else "", closing) if line)


def is_extracted(texts: Sequence[str]) -> bool:
    """Whether the texts of one result are an extracted one, by their shape."""
    if len(texts) != 1 or not texts[0].endswith("...]"):
        return False
    match = _CLOSING.search(texts[0], max(0, len(texts[0]) - SLACK_CHARS))
    if match is None or len(texts[0]) > MOST_CHARS:
        return False
    removed, whole = (int(number.replace(",", "")) for number in match.groups())
    return removed <= whole > PLAIN_KEPT_CHARS and len(texts[0]) < whole
