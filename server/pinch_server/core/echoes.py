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
_SLOT_BITS: Final = 20
"""Words are known by this much of a hash."""
_OTHER, _SMALL, _CAPITAL = 0, 1, 2
_SIZES: Final = bytes(
    _SMALL if chr(code).islower() else _CAPITAL if chr(code).isupper() else _OTHER for code in range(128)
).ljust(256, bytes([_OTHER]))
_PAD: Final = bytes(8)
"""Around what is read, so that eight bytes can be taken from any place."""
_FIRST_BYTES: Final = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
_LAST_BYTES: Final = ~_FIRST_BYTES[::-1]
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
        is_said: For each slot whether a word in it was said.
    """

    is_said: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Vocabulary":
        """The words of texts."""
        is_said = np.zeros(1 << _SLOT_BITS, dtype=np.bool_)
        for text in texts:
            is_said[_words(text)[1]] = True
        return cls(is_said)

    def echo(self, text: str) -> Echoes:
        """The words of a text that are in the vocabulary: the rarer in the text, the more worth."""
        starts, slots = _words(text)
        is_said = self.is_said[slots]
        if not is_said.any():
            return SILENCE
        starts, slots = starts[is_said], slots[is_said]
        _, word, times = np.unique(slots, return_inverse=True, return_counts=True)
        lines = text.count("\n") + 1
        # The number of bits is the whole part of a logarithm, without a float that may differ by machine.
        bits = [(lines // count).bit_length() for count in times.tolist()]
        return Echoes(starts, _BIT_WORTH * np.array(bits, dtype=np.int64)[word])


def _words(text: str) -> tuple[Ints, Ints]:
    """Where each word of a text begins, and its slot."""
    # One byte for each code point: whatever is no ASCII letter only parts words.
    stream = _PAD + text.encode("ascii", "replace") + _PAD
    sizes = np.frombuffer(stream.translate(_SIZES), dtype=np.uint8)
    before, after = sizes[:-1], sizes[1:]
    is_letter = sizes != _OTHER
    is_edge = is_letter[1:] != is_letter[:-1]
    is_inner = (before == _SMALL) & (after == _CAPITAL)
    starts = np.flatnonzero((is_edge & is_letter[1:]) | is_inner) + 1
    ends = np.flatnonzero((is_edge & is_letter[:-1]) | is_inner) + 1
    is_long = ends - starts >= _LEAST_CHARS
    starts, ends = starts[is_long], ends[is_long]
    eights: NDArray[np.uint64] = np.ndarray((len(stream) - 7,), dtype="<u8", buffer=stream, strides=(1,))
    lengths = np.minimum(ends - starts, 8)
    mixed = ((eights[starts] | _SMALL_LETTERS) & _FIRST_BYTES[lengths]) * _ODD[0]
    mixed += ((eights[ends - 8] | _SMALL_LETTERS) & _LAST_BYTES[lengths]) * _ODD[1]
    mixed += (ends - starts).astype(np.uint64) * _ODD[2]
    mixed ^= mixed >> np.uint64(29)
    mixed *= _ODD[3]
    return starts - len(_PAD), (mixed >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
