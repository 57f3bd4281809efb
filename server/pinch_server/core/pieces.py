"""The pieces that an elision may keep between head and tail, by what they are worth."""

import heapq
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.codes import Ints
from pinch_server.core.echoes import Echoes
from pinch_server.core.keyed_shape import GAP_CHARS
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
_AT_ONCE: Final = 256
"""Pieces that are passed over at once."""
_TAKEN: Final = 1 << 60
"""More room than there is (characters)."""


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
        values: For each piece what it is worth a character while nothing is taken.
        needs: For each piece the least room that it takes; more than there is once it was taken.
        order: All pieces, the most worthy first.
        next: How many of them were looked at, or passed over.
        heap: Those that were looked at and not taken, by what they were worth then.
        room: The room for which it is known that a piece may have fitted; more than there is at first.
    """

    starts: Ints
    ends: Ints
    rows: Ints
    worth: Ints
    names: Ints
    untaken: Ints
    bonus: Ints
    values: NDArray[np.float64]
    needs: Ints
    order: Ints
    next: int = 0
    heap: list[tuple[float, int]] = field(default_factory=list)
    room: int = _TAKEN

    @classmethod
    def of(cls, weighed: Weighed, echoes: Echoes, head: int, tail: int) -> "Pieces":
        """The pieces of a text between its head and its tail."""
        found = weighed.sightings
        # Identifiers stand in order and do not overlap.
        first, end = np.searchsorted(found.starts, [head, tail]).tolist()
        untaken = np.ones(len(found.starts), dtype=np.int64)
        untaken[found.firsts[: np.searchsorted(found.ends, head, side="right")]] = 0
        untaken[found.firsts[end:]] = 0
        rows = np.flatnonzero(weighed.worth[first:end] * untaken.take(found.firsts[first:end])) + first
        places = found.starts.take(rows)
        failures = found.failures[(found.failures >= head) & (found.failures < tail)]
        heard = slice(*np.searchsorted(echoes.starts, [head, tail]).tolist())
        bounds = _units(echoes.breaks, head, tail)
        is_worthy = np.zeros(len(bounds) - 1, dtype=np.bool_)
        for stand in (places, failures, echoes.starts[heard]):
            _mark(is_worthy, bounds, stand)
        starts, ends = _pieces(bounds, is_worthy)
        edges = np.concatenate([starts, [tail]])
        row_bounds = places.searchsorted(edges)
        own_starts = starts.repeat(row_bounds[1:] - row_bounds[:-1])
        worth = weighed.worth.take(rows)
        worth *= found.previous.take(rows) < own_starts
        bonus = np.zeros(len(starts), dtype=np.int64)
        bonus[np.searchsorted(starts, failures, side="right") - 1] = _FAILURE_WORTH
        # Whole numbers, so that sums of them are exact.
        bonus += _sums(echoes.worth[heard], echoes.starts[heard].searchsorted(edges))
        lengths = ends - starts
        values = (_sums(worth, row_bounds) + bonus) / (lengths + GAP_CHARS)
        needs = lengths + GAP_CHARS - NEAR_CHARS * (lengths == _PIECE_CHARS)
        order = np.argsort(-values, kind="stable")
        names = found.firsts.take(rows)
        return cls(starts, ends, row_bounds, worth, names, untaken, bonus, values, needs, order)

    def best(self, room: int) -> int | None:
        """Takes the most worthy piece that may fit into `room`; None where there is none.

        Worth only falls, so that a piece looked at anew need only be compared with what the others were
        worth. Where many have fallen, the best of those that were looked at must do.
        """
        # Room falls a hundred times or so, and pieces that turn out not to fit may be as many as the text
        # is long: to look at all of them for each of those would cost more than in proportion to it.
        if room < self.room:
            if self.needs.min(initial=room + 1) > room:
                return None
            self.room = room
        looked_at: list[tuple[float, int]] = []
        while len(looked_at) < _LOOKS and (top := self._top()) is not None:
            self._remove(top)
            if self.needs[top[1]] > room:
                self._pass_over(room)
                continue
            heapq.heappush(looked_at, (-self._value(top[1]), top[1]))
            following = self._top()
            if following is not None and looked_at[0][0] <= following[0]:
                break
        if not looked_at or looked_at[0][0] >= 0:
            return None
        _, best = heapq.heappop(looked_at)
        self.needs[best] = _TAKEN
        for one in looked_at:
            heapq.heappush(self.heap, one)
        return best

    def _top(self) -> tuple[float, int] | None:
        """What the best piece was worth when last looked at, and which it is; None where none is left."""
        if self.next == len(self.order):
            return self.heap[0] if self.heap else None
        piece = self.order.item(self.next)
        fresh = -self.values.item(piece), piece
        return self.heap[0] if self.heap and self.heap[0] < fresh else fresh

    def _remove(self, top: tuple[float, int]) -> None:
        if self.heap and self.heap[0] == top:
            heapq.heappop(self.heap)
        else:
            self.next += 1

    def _pass_over(self, room: int) -> None:
        """Passes over the pieces that would be looked at next and take more room than there is."""
        while self.next < len(self.order):
            some = self.order[self.next : self.next + _AT_ONCE]
            if self.heap:
                # Those that come after one that was looked at already have to wait for it.
                worth, piece = self.heap[0]
                ranks = -self.values.take(some)
                some = some[: np.count_nonzero((ranks < worth) | ((ranks == worth) & (some < piece)))]
            fitting = (self.needs.take(some) <= room).nonzero()[0]
            passed = fitting.item(0) if fitting.size else len(some)
            self.next += passed
            if passed < _AT_ONCE:
                return

    def _value(self, piece: int) -> float:
        """What a piece is still worth a character, its gap included."""
        own = slice(self.rows[piece], self.rows[piece + 1])
        total = int(self.worth[own].dot(self.untaken[self.names[own]])) + int(self.bonus[piece])
        return total / int(self.ends[piece] - self.starts[piece] + GAP_CHARS)

    def keep(self, piece: int) -> None:
        """Counts what a piece holds as kept."""
        self.untaken[self.names[self.rows[piece] : self.rows[piece + 1]]] = 0


def _sums(values: Ints, bounds: Ints) -> Ints:
    """The sum of the values between each two bounds."""
    before = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=before[1:])
    sums = before.take(bounds)
    return sums[1:] - sums[:-1]


def _units(breaks: Ints, start: int, end: int) -> Ints:
    """Where the lines between head and tail begin, long ones in stretches, and where the last one ends.

    Where stretches are cut for good is settled when they are chosen.

    Args:
        breaks: Where the line breaks of the whole text stand.
        start: Where the head ends.
        end: Where the tail begins.
    """
    between = slice(*breaks.searchsorted([start, end - 1]).tolist())
    lines = np.concatenate([[start], breaks[between] + 1, [end]])
    stretches = -((lines[1:] - lines[:-1]) // -_PIECE_CHARS)
    befores = np.cumsum(stretches) - stretches
    begins = np.repeat(lines[:-1] - _PIECE_CHARS * befores, stretches)
    return np.concatenate([begins + _PIECE_CHARS * np.arange(len(begins)), [end]])


def _mark(is_worthy: NDArray[np.bool_], bounds: Ints, places: Ints) -> None:
    """Marks the units in which something stands; both in order."""
    if len(places) < len(bounds):
        is_worthy[np.searchsorted(bounds, places, side="right") - 1] = True
    else:
        before = np.searchsorted(places, bounds)
        is_worthy |= before[1:] > before[:-1]


def _pieces(bounds: Ints, is_worthy: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Start and end of each piece: a unit of worth, and those after it while they are short.

    Args:
        bounds: Where units begin, and where the last one ends.
        is_worthy: For each unit whether it is one of worth.
    """
    starts, ends = bounds[:-1], bounds[1:]
    worthy = np.flatnonzero(is_worthy)
    own_starts, own_ends = starts.take(worthy), ends.take(worthy)
    lasts = ends.searchsorted(own_starts + _BLOCK_CHARS)
    # Where the unit that fills the block would make it too long, the one before is the last.
    lasts -= np.concatenate([ends, [bounds[-1] + _PIECE_CHARS + 1]]).take(lasts) > own_starts + _PIECE_CHARS
    lasts = np.where(own_ends - own_starts == _PIECE_CHARS, worthy, np.maximum(lasts, worthy))
    following: list[int] = np.cumsum(is_worthy).take(lasts).tolist()
    chain: list[int] = []
    at = 0
    while at < len(worthy):
        chain.append(at)
        at = following[at]
    return own_starts.take(chain), ends.take(lasts.take(chain))
