"""What a history said of its identifiers up to an event: the next event reads only what is new."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.codes import Hashes, Ints

_NONE: Final = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The identifiers of a history up to a point.

    Attributes:
        hashes: One hash for each, rising.
        holders: How many tool results hold each.
        is_spoken: Whether it stands in any other text.
        end: The messages that were read.
        results: The tool results that were read.
    """

    hashes: Hashes
    holders: Ints
    is_spoken: NDArray[np.bool_]
    end: int = 0
    results: int = 0

    def of(self, hashes: Hashes) -> tuple[Ints, NDArray[np.bool_]]:
        """How many results hold each of some identifiers, and whether it was spoken; the caller's own."""
        if not self.hashes.size:
            return np.zeros(len(hashes), dtype=np.int64), np.zeros(len(hashes), dtype=np.bool_)
        places = self.hashes.searchsorted(hashes)
        # Whoever would stand behind the last is not there: any place tells.
        places[places == len(self.hashes)] = 0
        is_known = self.hashes.take(places) == hashes
        holders = self.holders.take(places)
        holders[~is_known] = 0
        return holders, self.is_spoken.take(places) & is_known


EMPTY: Final = Lexicon(_NONE.view(np.uint64), _NONE, _NONE.astype(np.bool_))
"""Of a history of which nothing was read."""


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """A lexicon, and what was read since: made one only where there is a next event.

    Attributes:
        before: The lexicon that reading went on from.
        hashes: One hash for each identifier that was read since, in no order.
        holders: How many tool results hold each, those read before included.
        is_spoken: Whether it stands in any other text, those read before included.
        end: The messages that were read in all.
        results: The tool results that were read in all.
    """

    before: Lexicon
    hashes: Hashes
    holders: Ints
    is_spoken: NDArray[np.bool_]
    end: int
    results: int

    def lexicon(self) -> Lexicon:
        """All of it as one."""
        hashes = np.concatenate([self.hashes, self.before.hashes])
        # A stable sort: of two that are equal, what was read since comes first, and counts.
        order = hashes.argsort(kind="stable")
        hashes = hashes.take(order)
        is_first = np.ones(len(hashes), dtype=np.bool_)
        is_first[1:] = hashes[1:] != hashes[:-1]
        chosen = order.take(is_first.nonzero()[0])
        return Lexicon(
            hashes[is_first],
            np.concatenate([self.holders, self.before.holders]).take(chosen),
            np.concatenate([self.is_spoken, self.before.is_spoken]).take(chosen),
            self.end,
            self.results,
        )

    @property
    def weight(self) -> int:
        """The memory that it takes (bytes)."""
        each = self.hashes.itemsize + self.holders.itemsize + self.is_spoken.itemsize
        return each * (len(self.hashes) + len(self.before.hashes))
