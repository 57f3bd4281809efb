"""Asking the database for a caller that waits only so long."""

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from threading import Event, Lock
from typing import Final, TypeVar

from sqlalchemy.exc import SQLAlchemyError

WAIT_SECONDS: Final = 0.3
"""How long a call waits for the database (seconds)."""
_THREADS: Final = 4
_LOG: Final = logging.getLogger(__name__)
_Found = TypeVar("_Found")


class GoneError(Exception):
    """Nobody waits for what is being asked any more."""


class Waiting:
    """Asks in threads of its own. Shared by threads, closed once.

    Args:
        what: What is asked for, as the log says it.
        wait_seconds: How long a call waits (seconds).
    """

    def __init__(self, what: str, wait_seconds: float = WAIT_SECONDS) -> None:
        self._what = what
        self._wait_seconds = wait_seconds
        self._lock = Lock()
        # What is being asked now, each by the event that its caller has gone.
        self._asked: set[Event] = set()
        # Their threads start with the first use: most services never have one.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pinch-asking")

    def ask(self, work: Callable[[Event], _Found]) -> _Found | None:
        """What the database answers; None when it does not in time, or cannot.

        Args:
            work: Asks; the event that it is given is set once nobody waits any more.
        """
        gone = Event()
        with self._lock:
            if len(self._asked) >= _THREADS and all(one.is_set() for one in self._asked):
                # The database hangs: those who waited have found out, the others need not.
                return None
        try:
            future: Future[_Found] = self._threads.submit(self._done, work, gone)
        except RuntimeError:
            # Closed under a call that was not finished in time.
            return None
        try:
            return future.result(self._wait_seconds)
        except (TimeoutError, CancelledError, GoneError):
            gone.set()
            future.cancel()
            return None
        except (SQLAlchemyError, KeyError) as error:
            # By its type alone: a driver's message may hold the URL, and a statement's the text.
            _LOG.warning("%s cannot be read or kept: %s", self._what, type(error).__name__)
            return None

    def close(self) -> None:
        """Finishes what is under way, and ends the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _done(self, work: Callable[[Event], _Found], gone: Event) -> _Found:
        with self._lock:
            self._asked.add(gone)
        try:
            return work(gone)
        finally:
            with self._lock:
                self._asked.discard(gone)
