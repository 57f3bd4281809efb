"""The C library's allocator, set for requests of megabytes.

By default glibc asks the kernel for each block of 128 KiB or more and gives it back when it is freed: every
large message then pays for fresh pages. With these values freed memory stays with the process and is used
again; what it once needed at most it keeps.
"""

import ctypes
from typing import Final

# From malloc.h of glibc, which has them nowhere else.
_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_M_MMAP_THRESHOLD: Final = -3

_TUNED: Final = (
    (_M_MMAP_THRESHOLD, 1 << 30),
    (_M_TRIM_THRESHOLD, 2**31 - 1),
    (_M_TOP_PAD, 64 << 20),
)


def tune_malloc() -> bool:
    """Lets this process keep and reuse what it frees; call it before there are threads.

    Returns:
        False where the C library has no `mallopt` (musl, macOS) or refused a value: only speed is lost.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    taken = [mallopt(name, value) == 1 for name, value in _TUNED]
    return all(taken)
