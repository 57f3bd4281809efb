"""The words that a text shares with what was said last: they tell which lines are being worked on.

An identifier that was said already is worth nothing by itself, since it stays in the conversation; but the
line that holds it is the likeliest to be quoted or edited next. So lines are weighed by their words, said or
not, and identifiers by what nobody has said.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.sightings import Ints
from pinch_server.core.worth import UNIT

_LEAST_CHARS: Final = 3
"""The shortest word (letters)."""
_BIT_WORTH: Final = UNIT // 2
"""The worth of a word for each doubling of the lines that there are for each place where it stands."""
_SLOT_BITS: Final = 16
"""Words are known by this much of a hash: a larger table costs more to clear than a text to read."""
_LETTERS: Final = 26
_SMALL_BIT: Final = 0x20
"""What a small letter has and its capital has not."""
_PAD: Final = bytes(8)
"""Around what is read, so that eight bytes can be taken from any place."""
_FIRST_BYTES: Final = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
_SMALL_LETTERS: Final = np.uint64(0x2020202020202020)
_ODD: Final = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64
)


@dataclass(frozen=True, slots=True)
class Echoes:
    """The words of a text that were said lately.

    Attributes:
        starts: Where each stands (code points), in order.
        worth: What each is worth to the line that holds it.
    """

    starts: Ints
    worth: Ints

    @property
    def sign(self) -> bytes:
        """All of it, as bytes."""
        return self.starts.tobytes() + self.worth.tobytes()


Echo = Callable[[str], Echoes]
"""Finds the words of a text that were said lately."""

_NOTHING: Final = np.zeros(0, dtype=np.int64)
SILENCE: Final = Echoes(_NOTHING, _NOTHING)


def silent(_text: str) -> Echoes:
    """The echo where nothing was said."""
    return SILENCE


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of some texts: runs of three letters or more, parted at inner capitals, of any size.

    Attributes:
        numbers: For each slot the number of the word in it, from 1 on; 0 where none was said.
    """

    numbers: Ints

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Vocabulary":
        """The words of texts."""
        slots = np.unique(_words("\n".join(texts))[1])
        numbers = np.zeros(1 << _SLOT_BITS, dtype=np.int64)
        numbers[slots] = np.arange(1, len(slots) + 1)
        return cls(numbers)

    def echo(self, text: str) -> Echoes:
        """The words of a text that are in the vocabulary: the rarer in the text, the more worth."""
        starts, slots = _words(text)
        numbers = self.numbers[slots]
        heard = np.flatnonzero(numbers)
        if not heard.size:
            return SILENCE
        numbers = numbers[heard]
        times = np.maximum(np.bincount(numbers), 1)
        # The exponent is the whole part of a logarithm, which no machine rounds in its own way.
        _, doublings = np.frexp((text.count("\n") + 1) // times)
        return Echoes(starts[heard], (_BIT_WORTH * doublings.astype(np.int64))[numbers])


def _words(text: str) -> tuple[Ints, Ints]:
    """Where each word of a text begins, and its slot."""
    # One byte for each code point: whatever is no ASCII letter only parts words.
    stream = _PAD + text.encode("ascii", "replace") + _PAD
    codes = np.frombuffer(stream, dtype=np.uint8)
    # Numbers below 0 wrap round, so that one comparison has both bounds.
    is_letter = (codes | _SMALL_BIT) - ord("a") < _LETTERS
    is_capital = codes - ord("A") < _LETTERS
    before, after = is_letter[:-1], is_letter[1:]
    is_inner = before & ~is_capital[:-1] & is_capital[1:]
    starts = np.flatnonzero((after > before) | is_inner) + 1
    ends = np.flatnonzero((before > after) | is_inner) + 1
    is_long = ends - starts >= _LEAST_CHARS
    starts, ends = starts[is_long], ends[is_long]
    eights: NDArray[np.uint64] = np.ndarray((len(stream) - 7,), dtype="<u8", buffer=stream, strides=(1,))
    lengths = ends - starts
    mixed = (eights[starts] | _SMALL_LETTERS) & _FIRST_BYTES[np.minimum(lengths, 8)]
    longer = np.flatnonzero(lengths > len(_PAD))
    mixed[longer] ^= (eights[ends[longer] - len(_PAD)] | _SMALL_LETTERS) * _ODD[0]
    mixed += lengths.astype(np.uint64) * _ODD[1]
    mixed *= _ODD[2]
    mixed ^= mixed >> np.uint64(29)
    mixed *= _ODD[3]
    return starts - len(_PAD), (mixed >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
