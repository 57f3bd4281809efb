"""Chance that gives the same values on every platform and Python version."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789"


class Dice:
    """A source of chance named by a key: equal keys give equal values for ever.

    Only ``random.Random.random`` is used, since it is the one method whose sequence Python promises to keep;
    no logarithm or power is taken, since those differ in the last bit between C libraries.
    """

    __slots__ = ("_next",)

    def __init__(self, *key: int | str) -> None:
        digest = hashlib.sha256("\x1f".join(str(part) for part in key).encode()).digest()
        self._next = random.Random(int.from_bytes(digest, "big")).random

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return self._next()

    def whole(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int(self._next() * (high - low + 1))

    def chance(self, share: float) -> bool:
        """True in ``share`` of the throws."""
        return self._next() < share

    def pick(self, items: Sequence[T]) -> T:
        """One of ``items``, each equally often.

        Raises:
            IndexError: ``items`` is empty.
        """
        return items[int(self._next() * len(items))]

    def several(self, items: Sequence[T], count: int) -> list[T]:
        """At most ``count`` different places of ``items``, in chance order."""
        left = list(items)
        return [left.pop(int(self._next() * len(left))) for _ in range(min(count, len(left)))]

    def weighted(self, items: Sequence[tuple[T, int]]) -> T:
        """One of the first members, as often as its weight says."""
        mark = self._next() * sum(weight for _, weight in items)
        for item, weight in items:
            mark -= weight
            if mark < 0:
                return item
        return items[-1][0]

    def hexadecimal(self, digits: int) -> str:
        """``digits`` hexadecimal digits."""
        text = ""
        while len(text) < digits:
            text += f"{int(self._next() * 2**48):012x}"
        return text[:digits]

    def letters(self, count: int) -> str:
        """``count`` ASCII letters and digits."""
        return "".join(_LETTERS[int(self._next() * len(_LETTERS))] for _ in range(count))

    def uuid(self) -> str:
        """A version 4 UUID in its usual spelling."""
        raw = self.hexadecimal(32)
        return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-a{raw[17:20]}-{raw[20:]}"
