"""Callers that wait for the database: a busy one is waited for, one that hangs is not."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from pinch_server.store.waiting import _THREADS, Waiting


def test_more_callers_than_threads_are_answered_in_turn() -> None:
    """A caller that comes while every thread asks for another waits its turn, and is told."""
    go, begun = threading.Event(), threading.Semaphore(0)

    def work(_gone: threading.Event) -> str:
        begun.release()
        go.wait(60)
        return "found"

    with closing(Waiting("things", 60)) as waiting, ThreadPoolExecutor(_THREADS + 1) as pool:
        first = [pool.submit(waiting.ask, work) for _ in range(_THREADS)]
        for _ in first:
            assert begun.acquire(timeout=60)
        last = pool.submit(waiting.ask, work)
        while not last.done() and waiting._threads._work_queue.empty():
            pass
        go.set()
        assert [one.result(60) for one in (*first, last)] == ["found"] * (_THREADS + 1)


def test_nobody_waits_for_what_is_known_to_hang() -> None:
    """Once every thread hangs over a question whose caller has gone, the next is told so without a try."""
    go, asked = threading.Event(), []

    def work(_gone: threading.Event) -> str:
        asked.append(1)
        go.wait(60)
        return "found"

    with closing(Waiting("things", 0.01)) as waiting:
        while len(asked) < _THREADS:
            assert waiting.ask(work) is None
        waiting._wait_seconds = 60.0
        assert waiting.ask(work) is None
        assert len(asked) == _THREADS
        assert waiting._threads._work_queue.empty()
        go.set()
