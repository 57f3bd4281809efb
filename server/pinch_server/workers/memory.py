"""Memory that a parent process and a worker both see, and that outlives the worker."""

import mmap
import os
import tempfile
from typing import Final

_NUMBER_BYTES: Final = 8


class SharedNumbers:
    """A row of 8-byte floats, all 0 at first.

    Args:
        size: How many.

    Raises:
        OSError: The memory cannot be had.
    """

    def __init__(self, size: int) -> None:
        self.descriptor: Final = _anonymous_file()
        """What a worker opens it by, handed on under the same number."""
        os.ftruncate(self.descriptor, size * _NUMBER_BYTES)
        self.row: Final = open_numbers(self.descriptor)

    def close(self) -> None:
        """Gives up the descriptor; the row can be read as before."""
        os.close(self.descriptor)


def open_numbers(descriptor: int) -> "memoryview[float]":
    """The row behind a descriptor that was handed on.

    Raises:
        OSError: It is no such descriptor.
    """
    return memoryview(mmap.mmap(descriptor, os.fstat(descriptor).st_size)).cast("d")


def _anonymous_file() -> int:
    """A file without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("pinch-metrics")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
