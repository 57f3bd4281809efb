"""Where the identifiers of many texts stand, and where failures are reported: read once, as arrays.

A conversation is read whole each time its plan is made, so that this is most of what trimming costs. A
regular expression and a set of words take ten times as long as the few passes over bytes here; what they find
is the same (`identifiers.identifiers` is the definition).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.batch import Batch
from pinch_server.core.codes import PAD, STRETCH_CHARS, Hashes, Ints, stretch_end
from pinch_server.core.give_way import GiveWay, on

Number = TypeVar("Number", np.int64, np.uint64)

_FAILURES: Final = 64
"""Failures told of one text; a log of nothing else is not worth more for each."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """The identifiers of one text, wherever they stand, in order.

    Attributes:
        starts: Where each stands (code points).
        ends: Where it ends.
        names: Its number: the same for the same identifier in all texts read together.
        firsts: The row in which the same identifier stands first.
        previous: Where the same identifier stands before; -1 where this is the first.
        part_rows: For each word of four characters or more inside an identifier that stands first here, the
            row of that.
        part_hashes: A hash of that word.
        failures: Where the first words of failure stand.
    """

    starts: Ints
    ends: Ints
    names: Ints
    firsts: Ints
    previous: Ints
    part_rows: Ints
    part_hashes: Hashes
    failures: Ints

    def each(self) -> Ints:
        """The rows in which identifiers stand first: each identifier once."""
        return np.flatnonzero(self.previous < 0)


def read_texts(texts: Sequence[str], give_way: GiveWay = on) -> tuple[list[Sightings], Hashes]:
    """Reads texts.

    Args:
        texts: Any texts.
        give_way: Called before each stretch of them.

    Returns:
        What stands in each, and for each different identifier, by its number, a hash that it has anywhere.
    """
    batches = list(_batches(texts))
    begins = np.array(list(accumulate((len(text) + 1 for text in texts), initial=0)), dtype=np.int64)
    places = list(accumulate(map(len, batches), initial=-PAD))
    found: list[Batch] = []
    for batch in batches:
        give_way()
        found.append(Batch.of(batch))
    give_way()
    return _by_text(found, places, begins)


def _batches(texts: Sequence[str]) -> Iterator[str]:
    """All texts, a line break after each, in stretches that are read at once and cut no identifier."""
    batch: list[str] = []
    room = STRETCH_CHARS
    for text in texts:
        if batch and len(text) > room:
            yield "".join(batch)
            batch, room = [], STRETCH_CHARS
        start = 0
        while (end := stretch_end(text, start)) < len(text):
            yield text[start:end]
            start = end
        batch.append(f"{text[start:]}\n")
        room -= len(text) - start + 1
    yield "".join(batch)


def _together(hashes: Hashes) -> tuple[Ints, Hashes]:
    """The rows, those with equal hashes together, each in order of appearance; and their hashes.

    Two bytes at a time are sorted by in one pass over the rows. Four bytes tell nearly all words apart.
    """
    digits: NDArray[np.uint16] = hashes.view("<u2").reshape(-1, 4)
    order = digits[:, 0].argsort(kind="stable")
    for digit in range(1, 4):
        order = order.take(digits[:, digit].take(order).argsort(kind="stable"))
        found = hashes.take(order)
        differing = found[1:] ^ found[:-1]
        looks_equal = differing << np.uint64(48 - 16 * digit) == 0
        if np.count_nonzero(looks_equal) == np.count_nonzero(differing == 0):
            break
    return order, found


def _by_text(found: Sequence[Batch], places: Sequence[int], begins: Ints) -> tuple[list[Sightings], Hashes]:
    """What was found, text by text, and the hash of each different identifier.

    Args:
        found: The batches.
        places: Where each would begin among all texts if it began with its padding.
        begins: Where each text begins.
    """
    starts = _joined([rows.starts + place for rows, place in zip(found, places, strict=False)])
    ends = _joined([rows.ends + place for rows, place in zip(found, places, strict=False)])
    failures = _joined([rows.failures + place for rows, place in zip(found, places, strict=False)])
    hashes = _joined([rows.hashes for rows in found])
    count = len(starts)
    first_rows = starts.searchsorted(begins)
    own_rows = first_rows[1:] - first_rows[:-1]
    owners = np.arange(len(begins) - 1).repeat(own_rows)
    order, hashes = _together(hashes)
    owned = owners.take(order)
    is_new_name = np.ones(count, dtype=np.bool_)
    is_new_name[1:] = hashes[1:] != hashes[:-1]
    is_first = np.ones(count, dtype=np.bool_)
    is_first[1:] = is_new_name[1:] | (owned[1:] != owned[:-1])
    names, firsts, previous = (np.empty(count, dtype=np.int64) for _ in range(3))
    names[order] = is_new_name.cumsum() - 1
    leads = is_first.nonzero()[0]
    firsts[order] = order.take(leads).take(is_first.cumsum() - 1)
    own_begins = begins[:-1].repeat(own_rows)
    starts -= own_begins
    ends -= own_begins
    previous[order[1:]] = starts.take(order[:-1])
    previous[order.take(leads)] = -1
    part_rows, part_hashes = _parts(found, previous < 0)
    firsts -= first_rows[:-1].repeat(own_rows)
    part_bounds = part_rows.searchsorted(first_rows).tolist()
    part_rows -= first_rows.take(owners.take(part_rows))
    failure_bounds = failures.searchsorted(begins)
    failures -= begins[:-1].repeat(failure_bounds[1:] - failure_bounds[:-1])
    bounds, failure_bounds = first_rows.tolist(), failure_bounds.tolist()
    sightings = []
    for text in range(len(begins) - 1):
        first, end = bounds[text], bounds[text + 1]
        own_parts = slice(part_bounds[text], part_bounds[text + 1])
        own_failures = slice(
            failure_bounds[text], min(failure_bounds[text + 1], failure_bounds[text] + _FAILURES)
        )
        sightings.append(
            Sightings(
                starts[first:end],
                ends[first:end],
                names[first:end],
                firsts[first:end],
                previous[first:end],
                part_rows[own_parts],
                part_hashes[own_parts],
                failures[own_failures],
            )
        )
    return sightings, hashes[is_new_name]


def _parts(found: Sequence[Batch], is_first: NDArray[np.bool_]) -> tuple[Ints, Hashes]:
    """The words of identifiers that stand first in their texts: their rows, and a hash of each."""
    rows: list[Ints] = []
    hashes: list[Hashes] = []
    before = 0
    for batch in found:
        own_rows, own_hashes = batch.parts(is_first[before : before + len(batch.starts)])
        own_rows += before
        rows.append(own_rows)
        hashes.append(own_hashes)
        before += len(batch.starts)
    return _joined(rows), _joined(hashes)


def _joined(arrays: Sequence[NDArray[Number]]) -> NDArray[Number]:
    """Arrays one after the other."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
