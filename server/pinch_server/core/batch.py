"""What stands in one stretch of text: identifiers, the words in them, and reports of failure.

A few passes over bytes, eight of them at a time where a word is looked into. What costs is to fetch something
from anywhere: so words are dropped as soon as a pass can tell, and only the rest are fetched.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.codes import (
    FIRST_BYTES,
    LAST_BYTES,
    LETTERS,
    ODD,
    SMALL_BIT,
    SMALL_LETTERS,
    Codes,
    Hashes,
    Ints,
    codes_of,
    eights,
)

LEAST_CHARS: Final = 6
"""The shortest identifier (characters)."""
_PART_CHARS: Final = 4
"""The shortest word between separators that says what an identifier is about (characters)."""
FAILURE_WORDS: Final = ("error", "exception", "traceback", "fatal", "panic", "fail", "failed", "failure")
"""What a word of a report of failure ends with, in letters of any size."""

_FIRST_SEPARATOR, _SEPARATORS = ord("-"), ord(":") - ord("-") + 1
"""`-`, `.`, `/` and `:` with the digits between them: of what is in no word, the separators."""
_SEPARATOR_BYTES: Final = b"-./:"
_TRIED: Final = 64
"""How far words and gaps are looked at eight bytes at a time; longer ones are few."""


def _eight(byte: int) -> np.uint64:
    return np.uint64(byte * 0x0101010101010101)


_ONES, _SMALL_BITS, _LETTER_BITS, _HIGH_BITS = map(_eight, (0x01, 0x20, 0x40, 0x80))
_NO_FIRST: Final = ~np.uint64(0xFF)
_TO_HIGH, _BEYOND = _eight(0x80 - _FIRST_SEPARATOR), _eight(0x80 - _FIRST_SEPARATOR - _SEPARATORS)
"""What lifts a byte to the high bit when it is a separator or more, and when it is more."""


_ENDS: Final = [word[-8:].encode() for word in FAILURE_WORDS]
_END_BYTES: Final = np.array([[LAST_BYTES[len(end)]] for end in _ENDS])
_ENDS_AS_NUMBERS: Final = np.array(
    [[int.from_bytes(end.rjust(8, b"\0"), "little")] for end in _ENDS], np.uint64
)
"""The last bytes of each word of failure, and which of eight they are."""
_PAIRS: Final = np.array([[pair] for pair in sorted({(end[-2], end[-1]) for end in _ENDS})], np.uint8)
"""The last two letters of each."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The identifiers of a stretch of text, by place among its codes.

    Attributes:
        codes: The stretch.
        starts: Where each identifier stands.
        ends: Where it ends.
        hashes: A hash of it; those of equal words are equal.
        part_rows: For each word of four characters or more in an identifier the row of that.
        part_starts: Where it begins.
        part_ends: Where it ends.
        failures: Where words of failure stand.
    """

    codes: Codes
    starts: Ints
    ends: Ints
    hashes: Hashes
    part_rows: Ints
    part_starts: Ints
    part_ends: Ints
    failures: Ints

    @classmethod
    def of(cls, text: str) -> "Batch":
        """Reads a stretch of text."""
        codes = codes_of(text)
        small = (codes | SMALL_BIT).view(np.uint8)
        # Numbers below 0 wrap round, so that one comparison has both bounds.
        is_word = small - ord("a") < LETTERS
        is_word |= codes - ord("0") < 10
        is_word |= codes == ord("_")
        edges = (is_word[1:] != is_word[:-1]).nonzero()[0]
        edges += 1
        starts, ends = edges[::2].copy(), edges[1::2].copy()
        opens = _opens(codes, starts, ends)
        firsts = opens.nonzero()[0]
        lasts = np.empty_like(firsts)
        lasts[:-1], lasts[-1:] = firsts[1:], len(starts)
        lasts -= 1
        begin, end = starts.take(firsts), ends.take(lasts)
        rows = (end - begin >= LEAST_CHARS).nonzero()[0]
        begin, end = begin.take(rows), end.take(rows)
        bytes_at = eights(codes)
        head = bytes_at[begin]
        marked = _marked(codes, bytes_at, head, begin, end)
        rows, begin, end = rows.take(marked), begin.take(marked), end.take(marked)
        row_of = np.full(len(firsts) + 1, -1, dtype=np.int64)
        row_of[1 + rows] = np.arange(len(rows))
        long = (ends - starts >= _PART_CHARS).nonzero()[0]
        long_ends = ends.take(long)
        parts = row_of.take(opens.cumsum().take(long))
        own = (parts >= 0).nonzero()[0]
        return cls(
            codes,
            begin,
            end,
            _hashes(bytes_at, head.take(marked), begin, end),
            parts.take(own),
            starts.take(long.take(own)),
            long_ends.take(own),
            _failures(bytes_at, small, long_ends),
        )

    def parts(self, is_wanted: NDArray[np.bool_]) -> tuple[Ints, Hashes]:
        """The row and a hash of each word of four characters or more in some identifiers.

        Args:
            is_wanted: For each row whether it is one of them.
        """
        wanted = is_wanted.take(self.part_rows).nonzero()[0]
        starts, ends = self.part_starts.take(wanted), self.part_ends.take(wanted)
        bytes_at = eights(self.codes)
        return self.part_rows.take(wanted), _hashes(bytes_at, bytes_at[starts], starts, ends)


def _opens(codes: Codes, starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which words begin an identifier: those with more than separators between them and the word before."""
    opens = np.ones(len(starts), dtype=np.bool_)
    before, after = ends[:-1], starts[1:]
    gaps = after - before
    may_join = codes.take(before) - _FIRST_SEPARATOR < _SEPARATORS
    opens[1:] = gaps > 1
    opens[1:] |= ~may_join
    wide = (may_join & opens[1:]).nonzero()[0]
    ends_too = codes.take(after.take(wide) - 1) - _FIRST_SEPARATOR < _SEPARATORS
    wide = wide.take(ends_too.nonzero()[0])
    opens[1 + wide] = False
    wide = wide.take((gaps.take(wide) > 2).nonzero()[0])
    opens[1 + wide] = True
    bytes_at = eights(codes)
    for reach in range(0, _TRIED, 8):
        if not wide.size:
            return opens
        left = gaps.take(wide) - reach
        found = bytes_at[before.take(wide) + reach]
        other = (~(found + _TO_HIGH) | (found + _BEYOND)) & _HIGH_BITS
        is_gap = other & FIRST_BYTES.take(left, mode="clip") == 0
        opens[1 + wide[is_gap & (left <= 8)]] = False
        wide = wide[is_gap & (left > 8)]
    for word in wide.tolist():
        opens[1 + word] = bool(codes[before[word] : after[word]].tobytes().strip(_SEPARATOR_BYTES))
    return opens


def _marked(codes: Codes, bytes_at: Hashes, head: Hashes, starts: Ints, ends: Ints) -> Ints:
    """Which words have a separator, a digit, an underscore or an inner capital beside a small letter.

    Args:
        codes: The stretch.
        bytes_at: The eight bytes from each place on.
        head: Those from the start of each word on.
        starts: Where each word begins.
        ends: Where it ends.
    """
    lengths = ends - starts
    own = FIRST_BYTES.take(lengths, mode="clip")
    is_marked = _sure(head) & own != 0
    doubted = (~is_marked).nonzero()[0]
    starts, ends, lengths = starts.take(doubted), ends.take(doubted), lengths.take(doubted)
    large, small = _letters(head.take(doubted) & own.take(doubted))
    large &= _NO_FIRST
    rest = (lengths > 8).nonzero()[0]
    for reach in range(8, _TRIED, 8):
        if not rest.size:
            break
        end = ends.take(rest)
        found = bytes_at[np.minimum(starts.take(rest) + reach, end - 8)]
        more_large, more_small = _letters(found)
        is_sure = _sure(found) != 0
        large[rest] |= more_large
        small[rest] |= more_small
        is_marked[doubted.take(rest[is_sure])] = True
        rest = rest[~is_sure & (lengths.take(rest) > reach + 8)]
    for row in rest.tolist():
        is_marked[doubted[row]] = _is_marked(codes[starts[row] : ends[row]].tobytes())
    is_marked[doubted] |= (large != 0) & (small != 0)
    marked: Ints = is_marked.nonzero()[0]
    return marked


def _sure(bytes_: Hashes) -> Hashes:
    """For each byte whether it is a digit, a separator or an underscore: what alone marks an identifier."""
    # Of the capitals and the underscore, which have a small letter's bit not, one more gives it to the last.
    underscore = (bytes_ + _ONES) & ~bytes_ & _SMALL_BITS
    return (~bytes_ & _LETTER_BITS) | underscore


def _letters(bytes_: Hashes) -> tuple[Hashes, Hashes]:
    """For each byte whether it is a capital, and whether it is a small letter; it is a letter, or nothing."""
    is_letter = bytes_ & _LETTER_BITS
    is_small = (bytes_ << np.uint64(1)) & is_letter
    return is_letter ^ is_small, is_small


def _is_marked(word: bytes) -> bool:
    return not word.isalpha() or not (word[1:].islower() or word.isupper())


def _hashes(bytes_at: Hashes, head: Hashes, starts: Ints, ends: Ints) -> Hashes:
    """A hash of each word by its length, its first 32 and its last 32 bytes.

    Args:
        bytes_at: The eight bytes from each place on.
        head: Those from the start of each word on.
        starts: Where each word begins.
        ends: Where it ends.
    """
    lengths = ends - starts
    found = head & FIRST_BYTES.take(lengths, mode="clip")
    found *= ODD[0]
    found += lengths.view(np.uint64)
    for reach, far in ((8, 0), (16, 8), (32, 16), (32, 24)):
        longer = (lengths > reach).nonzero()[0]
        if not longer.size:
            break
        mixed = found.take(longer)
        mixed ^= mixed >> np.uint64(29)
        mixed *= ODD[1]
        mixed += bytes_at[ends.take(longer) - (8 + far)]
        if far:
            mixed ^= mixed >> np.uint64(32)
            mixed *= ODD[2]
            mixed += bytes_at[starts.take(longer) + far]
        found[longer] = mixed
    found ^= found >> np.uint64(32)
    found *= ODD[3]
    found ^= found >> np.uint64(29)
    return found


def _failures(bytes_at: Hashes, small: Codes, ends: Ints) -> Ints:
    """The last places of those words that end in one of failure.

    Args:
        bytes_at: The eight bytes from each place on.
        small: The stretch in small letters.
        ends: Where words of four characters or more end: no word of failure is shorter.
    """
    second, last = small.take(ends - 2), small.take(ends - 1)
    may_be = np.logical_or.reduce((second == _PAIRS[:, :, 0]) & (last == _PAIRS[:, :, 1]))
    ends = ends.take(may_be.nonzero()[0])
    found = bytes_at[ends - 8] | SMALL_LETTERS
    is_failure = np.logical_or.reduce(found & _END_BYTES == _ENDS_AS_NUMBERS)
    found_at: Ints = ends.take(is_failure.nonzero()[0])
    return found_at - 1
