"""Where the identifiers of many texts stand, and where failures are reported: read once, as arrays.

A conversation is read whole each time its plan is made, so that this is most of what trimming costs. A
regular expression and a set of words take ten times as long as the few passes over bytes here; what they find
is the same (`identifiers.identifiers` is the definition).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

LEAST_CHARS: Final = 6
"""The shortest identifier (characters)."""
_PART_CHARS: Final = 4
"""The shortest word between separators that says what an identifier is about (characters)."""
_BATCH_CHARS: Final = 200_000
"""Texts are read together up to this length: each pass costs a little by itself, and long ones leave the
processor's cache."""
_APART: Final = ("\n", " ", ",", '"')
"""What stands in no identifier and in nearly every long text."""
_FAILURES: Final = 64
"""Failures told of one text; a log of nothing else is not worth more for each."""
FAILURE_WORDS: Final = ("error", "exception", "traceback", "fatal", "panic", "fail", "failed", "failure")
"""What a word of a report of failure ends with, in letters of any size."""

_OTHER, _LOWER, _UPPER, _DIGIT, _SEPARATOR = 0, 1, 2, 4, 8
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def _table(kinds: dict[str, int]) -> bytes:
    of = {ord(character): kind for characters, kind in kinds.items() for character in characters}
    return bytes(of.get(code, _OTHER) for code in range(256))


_KINDS: Final = _table(
    {_LETTERS: _LOWER, _LETTERS.upper(): _UPPER, "0123456789_": _DIGIT, "./:-": _SEPARATOR}
)
_SEPARATORS: Final = np.uint64(int.from_bytes(bytes([_SEPARATOR] * 8), "little"))
_TRIED: Final = 64
"""How far words and gaps are looked at eight bytes at a time; longer ones are few."""
_PAD: Final = bytes(64)
"""Around what is read, so that eight bytes can be taken from any place."""
_FIRST_BYTES: Final = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
_LAST_BYTES: Final = ~_FIRST_BYTES[::-1]
"""Of eight bytes the first so many, and the last so many."""
_SMALL_LETTERS: Final = np.uint64(0x2020202020202020)
_ODD: Final = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64
)
_ROW_BITS: Final = 24


def _failure_ends() -> list[tuple[np.uint64, np.uint64]]:
    """The last bytes of each word of failure, and which of eight they are."""
    ends = [word[-8:].encode() for word in FAILURE_WORDS]
    return [(_LAST_BYTES[len(end)], np.uint64(int.from_bytes(end.rjust(8, b"\0"), "little"))) for end in ends]


def _may_fail() -> NDArray[np.bool_]:
    """Which pairs of bytes may be the last two of a word of failure."""
    table = np.zeros(1 << 16, dtype=np.bool_)
    for word in FAILURE_WORDS:
        for pair in (word[-2:], word[-2:].upper(), word[-2:].title(), word[-2] + word[-1].upper()):
            table[int.from_bytes(pair.encode(), "little")] = True
    return table


_FAILURE_ENDS: Final = _failure_ends()
_MAY_FAIL: Final = _may_fail()


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


@dataclass(frozen=True, slots=True)
class _Rows:
    """Everything found in a batch of texts, by place in the batch; hashes of equal words are equal."""

    starts: Ints
    ends: Ints
    hashes: Hashes
    part_rows: Ints
    part_hashes: Hashes
    failures: Ints


def read_texts(texts: Sequence[str]) -> tuple[list[Sightings], int]:
    """Reads texts.

    Args:
        texts: Any texts.

    Returns:
        What stands in each, and how many different identifiers there are in all.
    """
    streams = list(_streams(texts))
    rows = _joined([_read(stream) for stream in streams], list(map(len, streams)))
    begins = np.array(list(accumulate((len(text) + 1 for text in texts), initial=0)), dtype=np.int64)
    return _by_text(rows, begins)


def _streams(texts: Sequence[str]) -> Iterator[str]:
    """All texts, a line break after each, in stretches that are read at once and cut no identifier."""
    batch: list[str] = []
    room = _BATCH_CHARS
    for text in texts:
        if len(text) > room:
            yield "".join(batch)
            batch, room = [], _BATCH_CHARS
        start = 0
        while len(text) - start > _BATCH_CHARS:
            least = start + _BATCH_CHARS // 2
            ends = (text.rfind(mark, least, start + _BATCH_CHARS) for mark in _APART)
            end = next((end for end in ends if end >= 0), len(text))
            yield text[start:end]
            start = end
        batch.append(f"{text[start:]}\n")
        room -= len(text) - start + 1
    yield "".join(batch)


def _joined(found: Sequence[_Rows], spans: Sequence[int]) -> _Rows:
    """Batches one after the other, as if they had been read as one."""
    if len(found) == 1:
        return found[0]
    places = list(accumulate(spans, initial=0))
    first_rows = list(accumulate((len(rows.starts) for rows in found), initial=0))
    return _Rows(
        np.concatenate([rows.starts + place for rows, place in zip(found, places, strict=False)]),
        np.concatenate([rows.ends + place for rows, place in zip(found, places, strict=False)]),
        np.concatenate([rows.hashes for rows in found]),
        np.concatenate([rows.part_rows + first for rows, first in zip(found, first_rows, strict=False)]),
        np.concatenate([rows.part_hashes for rows in found]),
        np.concatenate([rows.failures + place for rows, place in zip(found, places, strict=False)]),
    )


def _read(text: str) -> _Rows:
    # One byte for each code point: an identifier is ASCII, and everything else only parts them.
    stream = _PAD + text.encode("ascii", "replace") + _PAD
    kinds = stream.translate(_KINDS)
    is_word = np.frombuffer(kinds, dtype=np.uint8) & (_LOWER | _UPPER | _DIGIT) != 0
    edges = np.flatnonzero(is_word[1:] != is_word[:-1]) + 1
    starts, ends = edges[::2].copy(), edges[1::2].copy()
    longer = np.flatnonzero(ends - starts >= _PART_CHARS)
    failures = _failures(stream, ends[longer])
    opens = _opens(kinds, starts, ends)
    firsts = np.flatnonzero(opens)
    lasts = _group_ends(firsts, len(starts))
    begin, end = starts[firsts], ends[lasts]
    rows = np.flatnonzero(end - begin >= LEAST_CHARS)
    is_marked = firsts[rows] != lasts[rows]
    single = np.flatnonzero(~is_marked)
    is_marked[single] = _are_marked(kinds, begin[rows[single]], end[rows[single]])
    rows = rows[is_marked]
    row_of = np.full(len(firsts), -1, dtype=np.int64)
    row_of[rows] = np.arange(len(rows))
    part_rows = row_of[(np.cumsum(opens) - 1)[longer]]
    parts = longer[part_rows >= 0]
    return _Rows(
        begin[rows] - len(_PAD),
        end[rows] - len(_PAD),
        _hashes(stream, begin[rows], end[rows]),
        part_rows[part_rows >= 0],
        _hashes(stream, starts[parts], ends[parts]),
        failures - len(_PAD),
    )


def _group_ends(firsts: Ints, count: int) -> Ints:
    """The last index of each group, given the first of each."""
    return np.append(firsts[1:], count)[: len(firsts)] - 1


def _opens(kinds: bytes, starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which words begin an identifier: those with more than separators between them and the word before."""
    codes = np.frombuffer(kinds, dtype=np.uint8)
    opens = np.ones(len(starts), dtype=np.bool_)
    before, after = ends[:-1], starts[1:]
    opens[1:] = (codes[before] != _SEPARATOR) | (codes[after - 1] != _SEPARATOR)
    wide = np.flatnonzero(~opens[1:] & (after - before > 2))
    eights = _eights(kinds)
    for reach in range(0, _TRIED, 8):
        wide = wide[after[wide] - before[wide] > reach]
        if not wide.size:
            return opens
        is_gap = eights[np.maximum(before[wide] + reach, 0)] ^ _SEPARATORS
        is_gap &= _FIRST_BYTES[np.minimum(after[wide] - before[wide] - reach, 8)]
        opens[1 + wide[is_gap != 0]] = True
        wide = wide[is_gap == 0]
    for word in wide.tolist():
        opens[1 + word] = bool(kinds[before[word] : after[word]].strip(bytes([_SEPARATOR])))
    return opens


def _eights(stream: bytes) -> Hashes:
    """The eight bytes from each place on, as a number."""
    eights: Hashes = np.ndarray((len(stream) - 7,), dtype="<u8", buffer=stream, strides=(1,))
    return eights


def _are_marked(kinds: bytes, starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which words without a separator have a digit or an inner capital beside a small letter."""
    eights = _eights(kinds)
    first = eights[starts]
    found = (first & ~np.uint64(0xFF)) & _FIRST_BYTES[np.minimum(ends - starts, 8)]
    for reach in range(8, _TRIED, 8):
        longer = np.flatnonzero(ends - starts > reach)
        if not longer.size:
            break
        found[longer] |= eights[np.minimum(starts[longer] + reach, ends[longer] - 8)]
    for shift in (32, 16, 8):
        found |= found >> np.uint64(shift)
    inner = found.astype(np.uint8)
    for row in np.flatnonzero(ends - starts > _TRIED).tolist():
        inner[row] = _kinds_in(kinds[starts[row] + 1 : ends[row]])
    any_kind = inner | first.astype(np.uint8)
    has_inner_capital = (inner & _UPPER != 0) & (any_kind & _LOWER != 0)
    marked: NDArray[np.bool_] = (any_kind & _DIGIT != 0) | has_inner_capital
    return marked


def _kinds_in(kinds: bytes) -> int:
    return sum(kind for kind in (_LOWER, _UPPER, _DIGIT) if kind in kinds)


def _hashes(stream: bytes, starts: Ints, ends: Ints) -> Hashes:
    """A hash of each word by its length, its first 32 and its last 32 bytes."""
    eights = _eights(stream)
    lengths = ends - starts
    found: Hashes = (eights[starts] & _FIRST_BYTES[np.minimum(lengths, 8)]) * _ODD[0] + lengths.astype(
        np.uint64
    )
    for reach, far in ((8, 0), (16, 8), (32, 16), (32, 24)):
        longer = np.flatnonzero(lengths > reach)
        if not longer.size:
            break
        mixed = found[longer]
        mixed ^= mixed >> np.uint64(29)
        mixed = mixed * _ODD[1] + eights[ends[longer] - 8 - far]
        if far:
            mixed ^= mixed >> np.uint64(32)
            mixed = mixed * _ODD[2] + eights[starts[longer] + far]
        found[longer] = mixed
    found ^= found >> np.uint64(32)
    found *= _ODD[3]
    found ^= found >> np.uint64(29)
    return found


def _failures(stream: bytes, ends: Ints) -> Ints:
    """The last places of those words that end in one of failure."""
    twos = np.ndarray((len(stream) - 1,), dtype="<u2", buffer=stream, strides=(1,))
    ends = ends[_MAY_FAIL[twos[ends - 2]]]
    last = _eights(stream)[ends - 8] | _SMALL_LETTERS
    is_failure = np.zeros(len(ends), dtype=np.bool_)
    for mask, value in _FAILURE_ENDS:
        is_failure |= (last & mask) == value
    return ends[is_failure] - 1


def _by_text(rows: _Rows, begins: Ints) -> tuple[list[Sightings], int]:
    """What was found, text by text, and how many different identifiers there are."""
    count = len(rows.starts)
    first_rows = np.searchsorted(rows.starts, begins)
    owners = np.repeat(np.arange(len(begins) - 1), np.diff(first_rows))
    # One sort brings equal words together, each in order of appearance; forty bits of hash tell them apart.
    row_bits = max(_ROW_BITS, count.bit_length())
    low = np.uint64((1 << row_bits) - 1)
    packed = np.sort((rows.hashes & ~low) | np.arange(count, dtype=np.uint64))
    order = (packed & low).astype(np.int64)
    hashes = packed >> np.uint64(row_bits)
    is_new_name, is_first = np.ones(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)
    is_new_name[1:] = hashes[1:] != hashes[:-1]
    is_first[1:] = is_new_name[1:] | (owners[order[1:]] != owners[order[:-1]])
    names, firsts, previous = (np.empty(count, dtype=np.int64) for _ in range(3))
    names[order] = np.cumsum(is_new_name) - 1
    firsts[order] = order[is_first][np.cumsum(is_first) - 1]
    previous[order[1:]] = rows.starts[order[:-1]]
    own_begins = begins[owners]
    starts, ends = rows.starts - own_begins, rows.ends - own_begins
    previous = np.where(firsts == np.arange(count), -1, previous - own_begins)
    is_part = previous[rows.part_rows] < 0
    part_rows, part_hashes = rows.part_rows[is_part], rows.part_hashes[is_part]
    firsts -= first_rows[owners]
    part_bounds = np.searchsorted(part_rows, first_rows).tolist()
    part_rows -= first_rows[owners[part_rows]]
    failure_bounds = np.searchsorted(rows.failures, begins)
    failures = rows.failures - np.repeat(begins[:-1], np.diff(failure_bounds))
    bounds, failure_bounds = first_rows.tolist(), failure_bounds.tolist()
    found = []
    for text in range(len(begins) - 1):
        first, end = bounds[text], bounds[text + 1]
        own_parts = slice(part_bounds[text], part_bounds[text + 1])
        own_failures = slice(
            failure_bounds[text], min(failure_bounds[text + 1], failure_bounds[text] + _FAILURES)
        )
        found.append(
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
    return found, int(names.max(initial=-1)) + 1
