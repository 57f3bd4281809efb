"""Work over many sessions on all cores, with a progress bar."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Item = TypeVar("Item")
Done = TypeVar("Done")

Tick = Callable[[], None]

_work: Callable[[Any], Any] | None = None


def _run(item: Any) -> Any:
    assert _work is not None, "a worker is forked after its work is set"  # noqa: S101
    return _work(item)


def fan_out(work: Callable[[Item], Done], items: Sequence[Item], jobs: int, tick: Tick) -> list[Done]:
    """Does `work` for every item, in `jobs` processes.

    Processes are forked, so `work` and the items may be anything; where the platform cannot fork, or for one
    job, all is done in this process.

    Args:
        work: A function of one item; what it returns must pickle.
        items: The items; largest first keeps the processes evenly busy.
        jobs: Processes.
        tick: Called after each item that is done.

    Returns:
        What `work` returned for each, in the order of the items.
    """
    global _work  # noqa: PLW0603 - the one way to hand a forked process something that does not pickle
    if jobs <= 1 or len(items) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        done = []
        for item in items:
            done.append(work(item))
            tick()
        return done
    _work = work
    try:
        with multiprocessing.get_context("fork").Pool(min(jobs, len(items))) as pool:
            collected: list[Done] = []
            pending = [pool.apply_async(_run, (item,)) for item in items]
            for one in pending:
                collected.append(one.get())
                tick()
            return collected
    finally:
        _work = None


@contextmanager
def progress(words: str, total: int) -> Iterator[Tick]:
    """A progress bar on standard error; gives what advances it by one."""
    columns = (TextColumn(words), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # No refresh thread: a process must not be forked while another thread may hold a lock.
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task(words, total=total)
        bar.refresh()

        def tick() -> None:
            bar.advance(task)
            bar.refresh()

        yield tick
