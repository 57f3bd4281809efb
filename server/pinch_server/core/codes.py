"""The characters of a text as bytes, for the few passes over them that find its words.

Words and identifiers are ASCII, and whatever is not only parts them: one byte for each code point will do.
Long texts are taken in stretches, so that what a pass leaves is in the processor's cache for the next.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]

STRETCH_CHARS: Final = 400_000
"""The longest stretch (code points): each pass costs a little by itself, and what is long leaves the
processor's cache."""
_APART: Final = ("\n", " ", ",", '"')
"""What stands in no word and no identifier, and in nearly every long text."""
PAD: Final = 64
"""Bytes of nothing around the codes of a text, so that eight bytes can be taken from any place."""
_PADDING: Final = bytes(PAD)
_ASCII: Final = 128

FIRST_BYTES: Final = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
"""Of eight bytes the first so many."""
LAST_BYTES: Final = ~FIRST_BYTES[::-1]
"""Of eight bytes the last so many."""
SMALL_BIT: Final = 0x20
"""What a small letter has and its capital has not."""
SMALL_LETTERS: Final = np.uint64(0x2020202020202020)
"""Eight of them."""
LETTERS: Final = 26
ODD: Final = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64
)
"""Odd numbers whose products spread over all bits."""


def stretch_end(text: str, start: int) -> int:
    """Where a stretch of a text ends that begins at `start`; no word and no identifier is cut."""
    if len(text) - start <= STRETCH_CHARS:
        return len(text)
    ends = (text.rfind(mark, start + STRETCH_CHARS // 2, start + STRETCH_CHARS) for mark in _APART)
    return next((end for end in ends if end >= 0), len(text))


def codes_of(text: str) -> Codes:
    """One byte for each code point, 0 for what is not ASCII, and `PAD` zeros at each end."""
    if text.isascii():
        return np.frombuffer(b"".join((_PADDING, text.encode("ascii"), _PADDING)), dtype=np.uint8)
    codes = np.zeros(len(text) + 2 * PAD, dtype=np.uint8)
    points = np.array(text, ndmin=1).view(np.uint32)
    # The low bytes of what is not ASCII are cleared.
    np.multiply(points.astype(np.uint8), points < _ASCII, out=codes[PAD:-PAD])
    return codes


def eights(codes: Codes) -> Hashes:
    """The eight bytes from each place on, as a number."""
    return np.ndarray((len(codes) - 7,), dtype="<u8", buffer=codes, strides=(1,))
