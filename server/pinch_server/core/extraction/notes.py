"""What a shortened result says of itself: a note at each gap, and a summary."""

import re
from typing import Final

from pinch_server.core.nouns import counted

SUMMARY_CHARS: Final = 120
"""Longest summary (code points); a longer one is cut and ends in an ellipsis."""
_NOTE: Final = re.compile(r"\.\.\. \d{1,3}(?:,?\d{3})* (?:lines?|characters?) elided \.\.\.")
_NOTE_LINE: Final = re.compile(
    rf"[ \t]*(?:\#|//|--|;|%|/\*|\*|<!--)?[ \t]*{_NOTE.pattern}[ \t]*(?:\*/|-->)?[ \t\r]*"
)
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\s]+")
_BRACKETS: Final = str.maketrans("[]", "()")


def lines_elided(count: int, indent: str = "") -> str:
    """The note that stands for so many lines."""
    return f"{indent}... {counted(count, 'line')} elided ..."


def characters_elided(count: int) -> str:
    """The note that stands for so many characters."""
    return f"... {counted(count, 'character')} elided ..."


def is_note(line: str) -> bool:
    """Whether a line is a note and nothing else, be it behind a comment sign."""
    return _NOTE_LINE.fullmatch(line) is not None


def content_lines(text: str) -> list[str]:
    """The lines that are neither blank nor notes."""
    return [line for line in text.split("\n") if line.strip() and not is_note(line)]


def without_notes(text: str) -> str:
    """The text without note lines, and without notes inside a line."""
    return "\n".join(_NOTE.sub("", line) for line in text.split("\n") if not is_note(line))


def has_note(text: str) -> bool:
    """Whether any note stands in a text."""
    return _NOTE.search(text) is not None


def clipped_summary(summary: str) -> str:
    """A program's summary as it is shown: one line of at most 120 code points, no brackets, no controls."""
    line = _UNPRINTABLE.sub(" ", summary).translate(_BRACKETS).strip()
    return line if len(line) <= SUMMARY_CHARS else f"{line[: SUMMARY_CHARS - 1].rstrip()}…"
