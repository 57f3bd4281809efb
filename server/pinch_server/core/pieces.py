"""The pieces that an elision may keep between head and tail, by what they are worth."""

import heapq
from dataclasses import dataclass
from typing import Final

import numpy as np

from pinch_server.core.echoes import Echoes
from pinch_server.core.keyed_shape import GAP_CHARS
from pinch_server.core.sightings import Ints
from pinch_server.core.worth import UNIT, Weighed

_PIECE_CHARS: Final = 400
"""The longest line that is kept or left as one; longer ones are taken by stretches of this length."""
_BLOCK_CHARS: Final = 200
"""Short lines are kept or left with their neighbours, up to about this many characters."""
NEAR_CHARS: Final = 80
"""How far a cut moves to a break."""
_FAILURE_WORTH: Final = 2 * UNIT
_LOOKS: Final = 64
"""Pieces that are looked at anew before the best of them is taken."""


@dataclass(slots=True)
class Pieces:
    """The pieces between head and tail that hold something of worth; what was taken is worth nothing again.

    Attributes:
        starts: Where each begins.
        ends: Where it ends.
        rows: The first row of each, and the number of rows.
        worth: The worth of each row; 0 where the piece holds the same identifier before.
        names: The identifier of each row, by the row in which it stands first.
        untaken: For each identifier 1 while no chosen piece holds it, else 0.
        bonus: For each piece what its reports of failure are worth, and its words that were said lately:
            unlike an identifier, these are worth as much where another piece holds them too.
        heap: The pieces not yet taken by what they were worth a character when last looked at.
    """

    starts: list[int]
    ends: list[int]
    rows: list[int]
    worth: Ints
    names: Ints
    untaken: Ints
    bonus: list[int]
    heap: list[tuple[float, int]]

    @classmethod
    def of(cls, text: str, weighed: Weighed, echoes: Echoes, head: int, tail: int) -> "Pieces":
        """The pieces of a text between its head and its tail."""
        found = weighed.sightings
        untaken = np.ones(len(found.starts), dtype=np.int64)
        untaken[found.firsts[(found.ends <= head) | (found.starts >= tail)]] = 0
        is_counted = (found.starts >= head) & (found.starts < tail) & (weighed.worth > 0)
        rows = np.flatnonzero(is_counted & (untaken[found.firsts] > 0))
        failures = found.failures[(found.failures >= head) & (found.failures < tail)]
        bounds = _units(text, head, tail)
        heard = slice(*np.searchsorted(echoes.starts, [head, tail]).tolist())
        is_worthy = np.zeros(len(bounds), dtype=np.bool_)
        for places in (found.starts[rows], failures, echoes.starts[heard]):
            is_worthy[np.searchsorted(bounds, places, side="right") - 1] = True
        worthy = np.flatnonzero(is_worthy)
        starts, ends = _pieces(bounds, worthy)
        owners = np.searchsorted(starts, found.starts[rows], side="right") - 1
        worth = np.where(found.previous[rows] < starts[owners], weighed.worth[rows], 0)
        bonus = np.zeros(len(starts), dtype=np.int64)
        bonus[np.searchsorted(starts, failures, side="right") - 1] = _FAILURE_WORTH
        edges = np.append(starts, tail)
        # Whole numbers, so that sums of them are exact.
        echoed = np.append(0, np.cumsum(echoes.worth[heard]))
        bonus += np.diff(echoed[np.searchsorted(echoes.starts[heard], edges)])
        row_bounds = np.searchsorted(found.starts[rows], edges)
        sums = np.append(0, np.cumsum(worth))
        values = (np.diff(sums[row_bounds]) + bonus) / (ends - starts + GAP_CHARS)
        heap = [(-value, piece) for piece, value in enumerate(values.tolist())]
        heapq.heapify(heap)
        return cls(
            starts.tolist(),
            ends.tolist(),
            row_bounds.tolist(),
            worth,
            found.firsts[rows],
            untaken,
            bonus.tolist(),
            heap,
        )

    def best(self, room: int) -> int | None:
        """Takes the most worthy piece that may fit into `room` out of the heap; None where there is none.

        Worth only falls, so that a piece looked at anew need only be compared with what the others were
        worth. Where many have fallen, the best of those that were looked at must do.
        """
        looked_at: list[tuple[float, int]] = []
        while self.heap and len(looked_at) < _LOOKS:
            _, piece = heapq.heappop(self.heap)
            length = self.ends[piece] - self.starts[piece]
            if length + GAP_CHARS - (NEAR_CHARS if length == _PIECE_CHARS else 0) > room:
                continue
            heapq.heappush(looked_at, (-self._value(piece), piece))
            if self.heap and looked_at[0][0] <= self.heap[0][0]:
                break
        if not looked_at or looked_at[0][0] >= 0:
            return None
        _, best = heapq.heappop(looked_at)
        for one in looked_at:
            heapq.heappush(self.heap, one)
        return best

    def _value(self, piece: int) -> float:
        """What a piece is still worth a character, its gap included."""
        own = slice(self.rows[piece], self.rows[piece + 1])
        total = int(self.worth[own].dot(self.untaken[self.names[own]])) + self.bonus[piece]
        return total / (self.ends[piece] - self.starts[piece] + GAP_CHARS)

    def keep(self, piece: int) -> None:
        """Counts what a piece holds as kept."""
        self.untaken[self.names[self.rows[piece] : self.rows[piece + 1]]] = 0


def _units(text: str, start: int, end: int) -> Ints:
    """Where the lines between head and tail begin, long ones in stretches, and where the last one ends.

    Where stretches are cut for good is settled when they are chosen.
    """
    codes = np.frombuffer(text[start:end].encode("ascii", "replace"), dtype=np.uint8)
    breaks = np.flatnonzero(codes == ord("\n")) + 1
    starts = np.concatenate([[0], breaks[breaks < len(codes)]])
    lengths = np.diff(starts, append=len(codes))
    stretches = (lengths - 1) // _PIECE_CHARS
    before = np.repeat(np.cumsum(stretches) - stretches, stretches)
    cuts = np.repeat(starts, stretches) + (np.arange(len(before)) - before + 1) * _PIECE_CHARS
    found = np.append(starts, len(codes))
    return start + (np.sort(np.concatenate([cuts, found])) if cuts.size else found)


def _pieces(bounds: Ints, worthy: Ints) -> tuple[Ints, Ints]:
    """Start and end of each piece: a unit of worth, and those after it while they are short.

    Args:
        bounds: Where units begin, and where the last one ends.
        worthy: The units of worth, in order.
    """
    starts, ends = bounds[:-1], bounds[1:]
    lasts = np.searchsorted(ends, starts[worthy] + _BLOCK_CHARS)
    lasts = np.minimum(lasts, np.searchsorted(ends, starts[worthy] + _PIECE_CHARS, side="right") - 1)
    lasts = np.where(ends[worthy] - starts[worthy] == _PIECE_CHARS, worthy, np.maximum(lasts, worthy))
    following: list[int] = np.searchsorted(worthy, lasts, side="right").tolist()
    chain: list[int] = []
    at = 0
    while at < len(worthy):
        chain.append(at)
        at = following[at]
    return starts[worthy[chain]], ends[lasts[chain]]
