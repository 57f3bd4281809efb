"""The threads that calls are answered on."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from pinch_server.decide import Newcomers

SPARE_THREADS: Final = 16
"""Threads for health checks and refusals."""
QUESTION_THREADS: Final = 4
"""Threads for questions to the database: fewer than it may have connections from one process."""


class Threads:
    """The threads of one server.

    Args:
        count: Calls answered at once.
        streams: Streams open at once, each of which holds a thread while it mostly waits.
        newcomers: Is told of each call that comes; None: nobody is.
    """

    def __init__(self, count: int, streams: int = SPARE_THREADS, newcomers: Newcomers | None = None) -> None:
        self.started: Final[list[threading.Thread]] = []
        """Every thread that was started so far."""
        self.calls: Final = CallThreads(count, self.started, newcomers=newcomers)
        """Those that calls are answered on."""
        self.streams: Final = CallThreads(streams, self.started, "pinch-stream")
        """Those of streams that last as long as what they go along with."""
        self.questions: Final = CallThreads(QUESTION_THREADS, self.started, "pinch-question")
        """Those of calls that wait for the database: where it hangs, no conversation waits behind them."""
        self.spare: Final = ThreadPoolExecutor(
            SPARE_THREADS,
            thread_name_prefix="pinch-spare",
            initializer=lambda: self.started.append(threading.current_thread()),
        )
        """A few for health checks and refusals, which must not wait for the calls that are in the way."""

    def shutdown(self) -> None:
        """Takes no more calls and drops those that wait; returns at once."""
        for pool in (self.calls, self.streams, self.questions, self.spare):
            pool.shutdown(wait=False, cancel_futures=True)


class CallThreads(ThreadPoolExecutor):
    """Threads that know how many calls they have.

    Args:
        count: Calls answered at once.
        started: Takes each thread that is started.
        name: What their names begin with.
        newcomers: Is told of each call that comes; None: nobody is.
    """

    def __init__(
        self,
        count: int,
        started: list[threading.Thread],
        name: str = "pinch-rpc",
        newcomers: Newcomers | None = None,
    ) -> None:
        super().__init__(
            count,
            thread_name_prefix=name,
            initializer=lambda: started.append(threading.current_thread()),
        )
        self._newcomers = newcomers
        self._count_lock = threading.Lock()
        self._in_flight = 0

    @property
    def in_flight(self) -> int:
        """Calls that wait or are being answered."""
        return self._in_flight

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Has a call answered as soon as a thread is free."""
        if self._newcomers is not None:
            fn = self._newcomers.came(fn)
        future = super().submit(fn, *args, **kwargs)
        with self._count_lock:
            self._in_flight += 1
        # Of a call that has ended already this is called at once.
        future.add_done_callback(self._ended)
        return future

    def _ended(self, _future: object) -> None:
        with self._count_lock:
            self._in_flight -= 1
