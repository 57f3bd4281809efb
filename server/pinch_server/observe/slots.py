"""The numbers of one process, each at a fixed place in one row of memory.

Label values come from closed sets, so every series is known before the first call. Two processes that declare
the same series in the same order lay them out alike: one may read, add up and outlive the row of the other.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from threading import Lock
from typing import Final, TypeAlias

Row: TypeAlias = "memoryview[float]"
"""The numbers of one process, 8-byte floats of the machine."""
SLOT_BYTES: Final = 8
"""Size of one number (bytes)."""


class Slots:
    """The row; its own at first, and that of `move_into` afterwards."""

    def __init__(self) -> None:
        self._size = 0
        self._names = hashlib.sha256()
        self.values: Row = memoryview(array("d"))
        """The numbers."""

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self._size

    @property
    def layout(self) -> str:
        """The same for two rows whose numbers mean the same, and else different."""
        return f"{self._size}-{self._names.hexdigest()[:16]}"

    def take(self, name: str, labels: Sequence[str], count: int = 1) -> int:
        """Gives the next series its places.

        Args:
            name: The metric.
            labels: The values of its labels.
            count: How many numbers it has.

        Returns:
            The first place.
        """
        self._names.update(repr((name, tuple(labels), count)).encode())
        first, self._size = self._size, self._size + count
        return first

    def settle(self) -> None:
        """Makes the memory, once all series are declared."""
        self.values = memoryview(array("d", bytes(self._size * SLOT_BYTES)))

    def move_into(self, row: Row) -> None:
        """Counts on from what a row holds that other processes may read.

        Raises:
            ValueError: It has another size.
        """
        if len(row) != self._size:
            raise ValueError(f"there are {self._size} numbers, and room for {len(row)}")
        self.values = row


class Counter:
    """A number that only rises. Safe from any number of threads."""

    __slots__ = ("_at", "_lock", "_slots")

    def __init__(self, slots: Slots, at: int) -> None:
        self._slots = slots
        self._at = at
        self._lock = Lock()

    def inc(self, amount: float = 1.0) -> None:
        """Adds to it."""
        with self._lock:
            self._slots.values[self._at] += amount


class Gauge:
    """A number that is what it was last set to."""

    __slots__ = ("_at", "_slots")

    def __init__(self, slots: Slots, at: int) -> None:
        self._slots = slots
        self._at = at

    def set(self, value: float) -> None:
        """Sets it."""
        self._slots.values[self._at] = value


class Histogram:
    """How many observations fell into each bucket, and their sum. Safe from any number of threads."""

    __slots__ = ("_bounds", "_lock", "_slots", "_start", "_sum_at")

    def __init__(self, slots: Slots, start: int, bounds: tuple[float, ...]) -> None:
        self._slots = slots
        self._start = start
        self._bounds = bounds
        self._sum_at = start + len(bounds) + 1
        self._lock = Lock()

    def observe(self, value: float) -> None:
        """Counts an observation in the first bucket whose bound is not below it."""
        at = self._start + bisect_left(self._bounds, value)
        with self._lock:
            values = self._slots.values
            values[at] += 1
            values[self._sum_at] += value
