"""What a process has loaded, in large pages.

A small call reads a little of all that was loaded, in some hundreds of pages, and the processor has to look
up where each of them is: other processes ran since the call before. Pages of 2 MiB are few to look up.
"""

import ctypes
import mmap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MADV_COLLAPSE: Final = 25
"""From the kernel's mman-common.h, since Linux 6.1; elsewhere it is refused."""
_SIZE_FILE: Final = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
_MAPS: Final = Path("/proc/self/maps")
_LEAST_SHARE: Final = 0.5
"""The share of a large page that must be in use already: what it lacks is taken as well."""
_PRESENT: Final = 1
"""The bit that `mincore` sets for a page that is in memory."""
_SETTLED_SECONDS: Final = 5.0
"""When the first calls have brought in what they need (seconds)."""


def settle_in_large_pages() -> None:
    """Moves what this process holds into large pages a little later, once; call it when all is loaded."""
    timer = threading.Timer(_SETTLED_SECONDS, use_large_pages)
    timer.name, timer.daemon = "pinch-pages", True
    timer.start()


def use_large_pages() -> int:
    """Moves what this process holds of its own into large pages, now.

    Returns:
        How many were made; 0 where the kernel makes none on demand: only speed is lost.
    """
    try:
        size = int(_SIZE_FILE.read_text())
        maps = _MAPS.read_text()
        libc = ctypes.CDLL(None)
        libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    except (AttributeError, OSError, TypeError, ValueError):
        return 0
    present = ctypes.create_string_buffer(size // mmap.PAGESIZE)
    made = 0
    for start in _places(maps, size):
        is_known = libc.mincore(start, size, present) == 0
        if is_known and sum(page & _PRESENT for page in present.raw) >= _LEAST_SHARE * len(present):
            made += libc.madvise(start, size, _MADV_COLLAPSE) == 0
    return made


def _places(maps: str, size: int) -> Iterator[int]:
    """Where a large page could be among the memory that belongs to this process alone and to no file."""
    for line in maps.splitlines():
        addresses, access, _, _, _, *path = line.split(maxsplit=5)
        if access != "rw-p" or (path and path[0] != "[heap]"):
            continue
        first, end = (int(address, 16) for address in addresses.split("-"))
        yield from range(-(-first // size) * size, end - size + 1, size)
