"""What tells a reader that a result was extracted, and how to get the whole of it."""

from dataclasses import dataclass

SUMMARY_CHARS = 120
"""Longest summary (code points); a longer one is cut and ends in an ellipsis."""


@dataclass(frozen=True, slots=True)
class Marker:
    """The line under an extracted result.

    Attributes:
        reference: Names the original; empty where no original is kept.
        hint: How the original is fetched, in words for the model; empty where it cannot be.
        is_shown: False writes no line at all.
    """

    reference: str = ""
    hint: str = ""
    is_shown: bool = True
