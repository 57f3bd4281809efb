"""How many cores this process may use: fewer than the machine has, where an affinity or a quota says so."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

_CGROUP: Final = Path("/proc/self/cgroup")
_MOUNT: Final = Path("/sys/fs/cgroup")


def available_cores(cgroup: Path = _CGROUP, mount: Path = _MOUNT) -> int:
    """Whole cores that this process may keep busy, at least one.

    Args:
        cgroup: The file that names this process's control groups (Linux).
        mount: Where the groups are.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([float(cores), *_quotas(cgroup, mount)])))


def _quotas(cgroup: Path, mount: Path) -> Iterator[float]:
    """What each group, from this process's own up to the root, allows (cores)."""
    try:
        lines = cgroup.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers == "":
            root, read = mount, _quota_v2
        elif "cpu" in names:
            root, read = mount / "cpu", _quota_v1
        else:
            continue
        # In a container the path may be one of the host's, with the own group mounted at the root.
        group = PurePosixPath(path.lstrip("/"))
        for place in (group, *group.parents):
            quota = read(root / place)
            if quota is not None:
                yield quota


def _quota_v2(group: Path) -> float | None:
    words = _words(group / "cpu.max")
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0] != "max" else None


def _quota_v1(group: Path) -> float | None:
    quota, period = _words(group / "cpu.cfs_quota_us"), _words(group / "cpu.cfs_period_us")
    return int(quota[0]) / int(period[0]) if quota and period and int(quota[0]) > 0 else None


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
