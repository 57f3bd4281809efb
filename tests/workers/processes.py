"""Looking at the processes of a running service, and waiting for what becomes of them."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_SECONDS = 60.0


def children(pid: int) -> list[int]:
    """The processes that a process has started and that are not ended."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return [child for child in found if is_running(child)]


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def until(holds: Callable[[], bool]) -> None:
    """Waits until something holds that another process brings about.

    Raises:
        TimeoutError: It never did.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)
