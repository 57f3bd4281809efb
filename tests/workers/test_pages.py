"""What a process has loaded, in large pages."""

import subprocess
import sys
from pathlib import Path

import pytest

from pinch_server.workers import pages

_SCRIPT = """
from pinch_server.workers.pages import use_large_pages
kept = [str(number) * 20 for number in range(200_000)]
def large():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))
before = large()
made = use_large_pages()
assert kept == [str(number) * 20 for number in range(200_000)]
print(made, large() - before)
"""


def test_what_is_held_lies_in_large_pages_and_is_the_same() -> None:
    """Afterwards memory in use lies in as many large pages as were made, and holds what it held."""
    made, kib = map(int, subprocess.check_output([sys.executable, "-c", _SCRIPT]).split())
    if not made:
        pytest.skip("this kernel makes no large pages on demand")
    size = int(Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").read_text())
    assert kib * 1024 >= made * size / 2


def test_a_kernel_without_large_pages_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the kernel names no size for them, nothing is done."""
    monkeypatch.setattr(pages, "_SIZE_FILE", tmp_path / "none")
    assert pages.use_large_pages() == 0
