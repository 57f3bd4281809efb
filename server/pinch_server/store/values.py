"""What single calls saved, packed by size, and the middle of many of them without reading them all.

Values are kept apart by the number of their binary digits. The counts alone say among which of these groups
the middle is, and only its values are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]


def parse(text: str) -> Values:
    """The numbers of a comma-separated text, in ascending order."""
    return np.sort(np.fromstring(text, dtype=np.int64, sep=","))


def by_digits(values: Values) -> Iterator[tuple[int, Values]]:
    """Positive values in ascending order, in groups of as many binary digits, with that number."""
    start = 0
    while start < len(values):
        digits = int(values[start]).bit_length()
        end = int(np.searchsorted(values, 1 << digits)) if digits < 63 else len(values)
        yield digits, values[start:end]
        start = end


def pack(values: Values, digits: int) -> bytes:
    """Values of at most `digits` binary digits as bytes, four or eight a value."""
    return values.astype(_kind(digits)).tobytes()


def unpack(data: bytes, digits: int) -> Values:
    """What `pack` made bytes of."""
    return np.frombuffer(data, dtype=_kind(digits)).astype(np.int64)


def middle_groups(counts: Mapping[int, int]) -> tuple[int, ...]:
    """Among values of how many digits the middle is: none without values, two where it lies between them."""
    total = sum(counts.values())
    return tuple(dict.fromkeys(_digits_at(counts, rank) for rank in _middle_ranks(total)))


def median(counts: Mapping[int, int], values: Mapping[int, Iterable[Values]]) -> Decimal | None:
    """The middle value: of an even number of values the mean of the two in the middle; None without any.

    Args:
        counts: How many values have so many digits.
        values: Of those that `middle_groups` named, the values themselves.
    """
    ranks: dict[int, list[int]] = {}
    for rank in _middle_ranks(sum(counts.values())):
        digits = _digits_at(counts, rank)
        below = sum(count for fewer, count in counts.items() if fewer < digits)
        ranks.setdefault(digits, []).append(rank - below)
    found: list[int] = []
    for digits, places in ranks.items():
        some = np.concatenate(list(values[digits]))
        found += np.partition(some, places)[places].tolist()
    return Decimal(sum(found)) / len(found) if found else None


def _middle_ranks(total: int) -> Sequence[int]:
    return sorted({(total - 1) // 2, total // 2}) if total else ()


def _digits_at(counts: Mapping[int, int], rank: int) -> int:
    for digits in sorted(counts):
        if rank < counts[digits]:
            return digits
        rank -= counts[digits]
    raise ValueError(f"there are not {rank} values")


def _kind(digits: int) -> str:
    return "<u4" if digits <= 32 else "<u8"
