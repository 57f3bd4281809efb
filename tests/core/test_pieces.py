"""Which piece of a text is taken next."""

import heapq
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pinch_server.core.keyed_shape import GAP_CHARS
from pinch_server.core.pieces import Pieces

_LOOKS = 64
_NAMES = 4
Held = tuple[int, int]
Found = list[tuple[int, int, Held, Held]]
HELD = st.tuples(st.integers(0, _NAMES - 1), st.integers(0, 2))
PIECE = st.tuples(st.sampled_from([10, 10, 40]), st.integers(0, 2), HELD, HELD)
"""Length (characters), what it is worth by itself, and two identifiers with what each is worth."""


def pieces_of(found: Found) -> Pieces:
    """Pieces one after the other."""
    lengths, bonus = (np.array([piece[at] for piece in found], dtype=np.int64) for at in (0, 1))
    names, worth = (np.array([held[at] for piece in found for held in piece[2:]], np.int64) for at in (0, 1))
    ends = np.cumsum(lengths)
    values = (worth[::2] + worth[1::2] + bonus) / (lengths + GAP_CHARS)
    return Pieces(
        starts=ends - lengths,
        ends=ends,
        rows=2 * np.arange(len(found) + 1),
        worth=worth,
        names=names,
        untaken=np.ones(_NAMES, dtype=np.int64),
        bonus=bonus,
        values=values,
        needs=lengths + GAP_CHARS,
        order=np.argsort(-values, kind="stable"),
    )


def taken_one_by_one(found: Found, rooms: list[int]) -> list[int | None]:
    """What is taken when all pieces lie in one heap and each that is too long is thrown away in its turn."""
    taken_names: set[int] = set()

    def value(piece: int) -> float:
        length, bonus, *held = found[piece]
        worth = sum(worth for name, worth in held if name not in taken_names)
        return (worth + bonus) / (length + GAP_CHARS)

    heap = [(-value(piece), piece) for piece in range(len(found))]
    heapq.heapify(heap)
    taken: list[int | None] = []
    for room in rooms:
        looked_at: list[tuple[float, int]] = []
        while heap and len(looked_at) < _LOOKS:
            _, piece = heapq.heappop(heap)
            if found[piece][0] + GAP_CHARS > room:
                continue
            heapq.heappush(looked_at, (-value(piece), piece))
            if heap and looked_at[0][0] <= heap[0][0]:
                break
        if not looked_at or looked_at[0][0] >= 0:
            return [*taken, None]
        _, best = heapq.heappop(looked_at)
        taken.append(best)
        taken_names.update(name for name, _ in found[best][2:])
        for one in looked_at:
            heapq.heappush(heap, one)
    return taken


# One that waits for a piece that was looked at already.
@example(
    [
        (10, 2, (0, 2), (2, 1)),
        (10, 1, (0, 0), (3, 0)),
        (40, 0, (0, 2), (1, 2)),
        (40, 0, (2, 2), (2, 0)),
        (10, 2, (1, 1), (2, 2)),
        (10, 1, (1, 1), (0, 2)),
    ],
    [40, 40, 40],
)
@settings(max_examples=300)
@given(
    st.lists(PIECE, min_size=1, max_size=24)
    | st.lists(PIECE, min_size=9, max_size=16).map(lambda some: some * 30),
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda times: [70] * times[0] + [40] * times[1]),
)
def test_what_is_passed_over_at_once_is_what_would_be_one_by_one(found: Found, rooms: list[int]) -> None:
    """The same pieces are taken, in the same order, as if each were looked at in its turn."""
    pieces = pieces_of(found)
    taken: list[int | None] = []
    for room in rooms:
        best = pieces.best(room)
        taken.append(best)
        if best is None:
            break
        pieces.keep(best)
    assert taken == taken_one_by_one(found, rooms)


class Watched(np.ndarray[Any, np.dtype[np.int64]]):
    """An array that counts how often all of it is looked at."""

    looks = 0

    def min(self, *args: Any, **kwargs: Any) -> Any:
        """The least of all values."""
        Watched.looks += 1
        return super().min(*args, **kwargs)


def test_a_piece_that_is_not_kept_costs_no_look_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the room stays the same, all pieces are looked at once, however many turn out not to fit."""
    pieces = pieces_of([(40, 1, (0, 1), (1, 1))] * 200)
    monkeypatch.setattr(Watched, "looks", 0)
    pieces.needs = pieces.needs.view(Watched)
    tried = [pieces.best(350) for _ in range(100)]
    assert None not in tried
    assert len(set(tried)) == 100
    assert Watched.looks == 1
