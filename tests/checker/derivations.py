"""How a trimmed text can have come from its original: kept pieces, and gaps that say how much is gone.

A gap's count fixes where the next piece must stand in the original, so positions are verified, not searched
for; what has to be tried is only which markers are gaps and which are words of the tool that look like one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tests.checker.cuts import split_at

MARKER = re.compile(r"\[\.\.\.(\d{1,3}(?:,\d{3})*)( chars trimmed)?\.\.\.\]")
_LEADS = ("\n\n", "\n", " ", "")
_STEPS = 50_000


@dataclass(frozen=True, slots=True)
class Gap:
    """`count` code points of the original are missing; `lead` and `trail` are the marker's spacing."""

    count: int
    lead: str
    trail: str
    says_trimmed: bool


@dataclass(frozen=True, slots=True)
class Derivation:
    """Spans of the original that were kept, in order, and the gaps. An empty span is never listed."""

    pieces: tuple[tuple[int, int], ...]
    gaps: tuple[Gap, ...]

    @property
    def kept(self) -> int:
        """Code points of the original that are still there."""
        return sum(end - start for start, end in self.pieces)

    def cuts(self, length: int) -> list[int]:
        """Where the original, `length` code points long, was cut."""
        return [place for piece in self.pieces for place in piece if 0 < place < length]


def _common(old: str, at: int, new: str, start: int) -> int:
    """How many code points of old[at:] and new[start:] are the same."""
    low, high = 0, min(len(old) - at, len(new) - start)
    while low < high:
        middle = (low + high + 1) // 2
        if old[at + low : at + middle] == new[start + low : start + middle]:
            low = middle
        else:
            high = middle - 1
    return low


def derivations(old: str, new: str) -> Iterator[Derivation]:
    """Readings of `new` as pieces of `old` with true counts between them, those with fewest gaps first.

    Fewest first, since a text may be nothing but words that look like markers, each with a count that fits.
    """
    markers = list(MARKER.finditer(new))
    state = tuple[int, int, int, tuple[tuple[int, int], ...], tuple[Gap, ...]]
    waiting: deque[state] = deque([(0, 0, 0, (), ())])
    seen = {(0, 0)}
    while waiting and len(seen) <= _STEPS:
        start, at, first, pieces, gaps = waiting.popleft()
        same = _common(old, at, new, start)
        whole = start + same == len(new) and at + same == len(old)
        if gaps and whole and (same or not gaps[-1].trail):
            yield Derivation((*pieces, (at, at + same)) if same else pieces, gaps)
        for number in range(first, len(markers)):
            marker = markers[number]
            if marker.start() - start > same + len(_LEADS[0]):
                break
            found = [*_readings(old, new, marker, start, at, same)]
            # Where a line break may be the marker's or the tool's, what cuts nothing in two is meant.
            found.sort(key=lambda reading: reading.splits)
            for reading in found:
                if (reading.after, reading.resumed) in seen:
                    continue
                seen.add((reading.after, reading.resumed))
                kept = (*pieces, (at, at + reading.piece)) if reading.piece else pieces
                waiting.append((reading.after, reading.resumed, number + 1, kept, (*gaps, reading.gap)))


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to take a marker: what it ends, where the text goes on, and how many cuts split something."""

    piece: int
    after: int
    resumed: int
    gap: Gap
    splits: int


def _readings(
    old: str, new: str, marker: re.Match[str], start: int, at: int, same: int
) -> Iterator[_Reading]:
    """The ways in which the line breaks around a marker can be its own or the original's."""
    count = int(marker[1].replace(",", ""))
    if count == 0 or marker[1] != f"{count:,}":
        return
    for lead in _LEADS:
        piece = marker.start() - len(lead) - start
        if not 0 <= piece <= same or (piece == 0 and (start > 0 or lead)):
            continue
        resumed = at + piece + count
        if new[marker.start() - len(lead) : marker.start()] != lead or resumed > len(old):
            continue
        splits = sum(
            split_at(old, place) is not None for place in (at + piece, resumed) if 0 < place < len(old)
        )
        for trail in _LEADS:
            if new.startswith(trail, marker.end()):
                gap = Gap(count, lead, trail, marker[2] is not None)
                yield _Reading(piece, marker.end() + len(trail), resumed, gap, splits)


def bare_marker(count: int) -> str:
    """What stands in a part of which nothing is left."""
    return f"[...{count:,} chars trimmed...]"
