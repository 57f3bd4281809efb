"""The words that a text shares with what was said last: they tell which lines are being worked on.

An identifier that was said already is worth nothing by itself, since it stays in the conversation; but the
line that holds it is the likeliest to be quoted or edited next. So lines are weighed by their words, said or
not, and identifiers by what nobody has said.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.codes import (
    FIRST_BYTES,
    LETTERS,
    ODD,
    PAD,
    SMALL_LETTERS,
    Codes,
    Ints,
    codes_of,
    eights,
    stretch_end,
)
from pinch_server.core.worth import UNIT

_LEAST_CHARS: Final = 3
"""The shortest word (letters)."""
_BIT_WORTH: Final = UNIT // 2
"""The worth of a word for each doubling of the lines that there are for each place where it stands."""
_BREAK: Final = ord("\n")
_SLOT_BITS: Final = 16
"""Words are known by this much of a hash: a larger table costs more to clear than a text to read."""


@dataclass(frozen=True, slots=True)
class Echoes:
    """The lines of a text, and its words that were said lately.

    Attributes:
        breaks: Where each line but the last ends (code points), in order.
        starts: Where each word stands, in order.
        worth: What each is worth to the line that holds it.
    """

    breaks: Ints
    starts: Ints
    worth: Ints

    @property
    def sign(self) -> bytes:
        """All of it that the text alone does not give, as bytes."""
        return self.starts.tobytes() + self.worth.tobytes()


Echo = Callable[[str], Echoes]
"""Finds the words of a text that were said lately."""

_NOTHING: Final = np.zeros(0, dtype=np.int64)


def silent(text: str) -> Echoes:
    """The echo where nothing was said."""
    breaks = [_breaks(codes) + start for start, codes in _stretches(text)]
    return Echoes(np.concatenate(breaks), _NOTHING, _NOTHING)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of some texts: runs of three letters or more, parted at inner capitals, of any size.

    Attributes:
        numbers: For each slot the number of the word in it, from 1 on; 0 where none was said.
        is_said: For each slot whether there is one.
    """

    numbers: Ints
    is_said: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Vocabulary":
        """The words of texts."""
        numbers = np.zeros(1 << _SLOT_BITS, dtype=np.int64)
        for _, codes in _stretches("\n".join(texts)):
            numbers[_words_in(codes)[1]] = 1
        slots = np.flatnonzero(numbers)
        numbers[slots] = np.arange(1, len(slots) + 1)
        return cls(numbers, numbers > 0)

    def echo(self, text: str) -> Echoes:
        """The words of a text that are in the vocabulary: the rarer in the text, the more worth."""
        found: list[tuple[Ints, Ints, Ints]] = []
        for start, codes in _stretches(text):
            starts, slots = _words_in(codes)
            said = np.flatnonzero(self.is_said.take(slots))
            heard = starts.take(said)
            heard += start
            found.append((_breaks(codes) + start, heard, self.numbers.take(slots.take(said))))
        breaks, starts, numbers = (
            found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
        )
        times = np.maximum(np.bincount(numbers), 1)
        # The exponent is the whole part of a logarithm, which no machine rounds in its own way.
        _, doublings = np.frexp((len(breaks) + 1) // times)
        return Echoes(breaks, starts, (_BIT_WORTH * doublings.astype(np.int64)).take(numbers))


def _stretches(text: str) -> Iterator[tuple[int, Codes]]:
    """The stretches of a text, and where its code points would begin if each began with its padding."""
    start = 0
    while True:
        end = stretch_end(text, start)
        yield start - PAD, codes_of(text[start:end])
        if end == len(text):
            return
        start = end


def _breaks(codes: Codes) -> Ints:
    return np.flatnonzero(codes == _BREAK)


def _words_in(codes: Codes) -> tuple[Ints, Ints]:
    """Where each word begins among codes, and its slot."""
    # Numbers below 0 wrap round, so that one comparison has both bounds.
    is_small, is_capital = codes - ord("a") < LETTERS, codes - ord("A") < LETTERS
    is_letter = is_small | is_capital
    is_edge = is_small[:-1] & is_capital[1:]
    is_edge |= is_letter[1:] != is_letter[:-1]
    # Between two edges there is a word, or there is no letter.
    edges = np.flatnonzero(is_edge) + 1
    lengths = edges[1:] - edges[:-1]
    long = np.flatnonzero((lengths >= _LEAST_CHARS) & is_letter.take(edges[:-1]))
    starts, lengths = edges.take(long), lengths.take(long)
    bytes_at = eights(codes)
    mixed = (bytes_at[starts] | SMALL_LETTERS) & FIRST_BYTES.take(lengths, mode="clip")
    longer = np.flatnonzero(lengths > 8)
    mixed[longer] ^= (bytes_at[starts.take(longer) + lengths.take(longer) - 8] | SMALL_LETTERS) * ODD[0]
    mixed += lengths.astype(np.uint64) * ODD[1]
    mixed *= ODD[2]
    mixed ^= mixed >> np.uint64(29)
    mixed *= ODD[3]
    mixed >>= np.uint64(64 - _SLOT_BITS)
    return starts, mixed.view(np.int64)
