"""The allocator's settings."""

import ctypes
import subprocess
import sys

import pytest

from pinch_server.workers.malloc import tune_malloc


def test_a_freed_block_of_megabytes_stays_with_the_process() -> None:
    """After tuning, a large block comes from memory that was used before, without new pages."""
    script = """
import resource
from pinch_server.workers.malloc import tune_malloc
if {tuned}:
    assert tune_malloc()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
before = faults()
for _ in range(10):
    bytearray(40 << 20)[::4096] = bytes(10240)
print(faults() - before)
"""
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("this C library has no mallopt")
    counted = [
        int(subprocess.check_output([sys.executable, "-c", script.format(tuned=tuned)]))
        for tuned in (False, True)
    ]
    assert counted[1] < counted[0] / 5


def test_without_mallopt_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A C library that has no such call is left as it is."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert tune_malloc() is False
