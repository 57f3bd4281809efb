"""How many cores a process may use."""

import os
from pathlib import Path

import pytest

from pinch_server.workers.cores import available_cores


def groups(root: Path, names: str, files: dict[str, str]) -> int:
    """The cores where the process's groups are `names` and the given files say what they say."""
    (root / "self").write_text(names)
    for name, text in files.items():
        path = root / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return available_cores(root / "self", root / "mount")


@pytest.fixture
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of eight cores, all of them this process's."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def test_without_groups_the_affinity_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is said of quotas, a process uses the cores it is bound to."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5})
    assert available_cores(tmp_path / "none", tmp_path) == 3


@pytest.mark.usefixtures("_many")
@pytest.mark.parametrize(
    ("names", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
        ("0::/of/the/host\n", {"cpu.max": "400000 100000\n"}, 4),
        (
            "3:cpu,cpuacct:/docker/x\n2:memory:/y\n",
            {"cpu/docker/x/cpu.cfs_quota_us": "200000", "cpu/docker/x/cpu.cfs_period_us": "100000"},
            2,
        ),
        ("3:cpu:/x\n", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, 8),
    ],
)
def test_the_smallest_quota_counts(tmp_path: Path, names: str, files: dict[str, str], cores: int) -> None:
    """Of all groups a process is in, the tightest quota bounds it: whole cores, one at least."""
    assert groups(tmp_path, names, files) == cores
