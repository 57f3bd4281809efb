"""Whole hours and days of UTC, and how a window is laid out with those that are added up already."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

HOUR: Final = 3_600_000_000
"""An hour (microseconds)."""
DAY: Final = 24 * HOUR
"""A day (microseconds)."""


@dataclass(frozen=True, slots=True)
class Run:
    """Periods of one length, one after the other.

    Attributes:
        length: The length of each (microseconds).
        start: The start of the first (microseconds since the Unix epoch).
        end: The end of the last (likewise).
    """

    length: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A window, laid out.

    Attributes:
        runs: The parts of it that are added up.
        gaps: The start and end of each part that is not, and has to be read from the decisions.
    """

    runs: tuple[Run, ...]
    gaps: tuple[tuple[int, int], ...]


def floor(moment: int, length: int) -> int:
    """The start of the period of that length which a moment lies in."""
    return moment - moment % length


def ceil(moment: int, length: int) -> int:
    """The start of the first period of that length which begins at or after a moment."""
    return -(-moment // length) * length


def lay_out(start: int, end: int, days: Collection[int], hours: Collection[int]) -> Layout:
    """Covers a window with as few reads as there can be: days, else hours, else single decisions.

    Args:
        start: Where the window begins (microseconds since the Unix epoch).
        end: Where it ends, not included.
        days: Starts of the days that are added up.
        hours: Starts of the hours that are.
    """
    runs: list[Run] = []
    gaps: list[tuple[int, int]] = []
    for length, begin, finish in _pieces(start, end, frozenset(days), frozenset(hours)):
        if length:
            follows = runs and runs[-1].length == length and runs[-1].end == begin
            runs.append(Run(length, runs.pop().start if follows else begin, finish))
        else:
            continues = gaps and gaps[-1][1] == begin
            gaps.append((gaps.pop()[0] if continues else begin, finish))
    return Layout(tuple(runs), tuple(gaps))


def _pieces(
    start: int, end: int, days: frozenset[int], hours: frozenset[int]
) -> Iterator[tuple[int, int, int]]:
    """The window in pieces: the length of the period that covers each, 0 for none, its start and its end."""
    at = start
    while at < end:
        if at in days and at + DAY <= end:
            length, after = DAY, at + DAY
        elif at in hours and at + HOUR <= end:
            length, after = HOUR, at + HOUR
        else:
            length, after = 0, min(floor(at, HOUR) + HOUR, end)
        yield length, at, after
        at = after
