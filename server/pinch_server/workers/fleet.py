"""All workers of a service."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from pinch_server.workers.keeper import Job, Keeper
from pinch_server.workers.messages import Message

_LEAVE_SECONDS: Final = 30.0
"""What a worker gets beyond its calls' own time to empty its journal and end (seconds)."""


class WorkerFailed(Exception):
    """A worker cannot start; the text says why and what would mend it."""


class Fleet:
    """Starts the workers, replaces those that end, and stops them.

    Args:
        jobs: One for each worker.
        gone: Given the index of a worker that has ended unasked and is replaced.
        heard: Given the index of a worker and what it says beyond being ready.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        gone: Callable[[int], None],
        heard: Callable[[int, Message], None],
    ) -> None:
        self._changes = threading.Condition()
        self._has_started = False
        self._is_stopping = False
        self._keepers = [
            Keeper(
                job,
                changed=self._changed,
                gone=partial(gone, index),
                heard=partial(heard, index),
            )
            for index, job in enumerate(jobs)
        ]

    def start(self) -> None:
        """Starts all workers, and returns once each takes calls.

        Raises:
            WorkerFailed: One cannot start; none is left running.
        """
        for keeper in self._keepers:
            keeper.start()
        with self._changes:
            self._changes.wait_for(lambda: self._failure() or all(one.is_ready for one in self._keepers))
            failure = self._failure()
            self._has_started = failure is None
        if failure is not None:
            for keeper in self._keepers:
                keeper.kill()
            for keeper in self._keepers:
                keeper.join(_LEAVE_SECONDS)
            raise WorkerFailed(failure)

    @property
    def is_ready(self) -> bool:
        """Whether calls are taken: by all workers at the start, by any of them afterwards."""
        return self._has_started and not self._is_stopping and any(one.is_ready for one in self._keepers)

    def say(self, index: int, message: Message) -> bool:
        """Says something to one worker; False when it is not there."""
        return self._keepers[index].say(message)

    def stop(self, seconds: float) -> bool:
        """Asks every worker to finish its calls and end, and kills those that do not.

        Args:
            seconds: What they give their calls in flight (seconds); they get somewhat longer to end.

        Returns:
            False when one had to be killed.
        """
        self._is_stopping = True
        for keeper in self._keepers:
            keeper.stop()
        until = time.monotonic() + seconds + _LEAVE_SECONDS
        late = [keeper for keeper in self._keepers if not keeper.join(until - time.monotonic())]
        for keeper in late:
            keeper.kill()
        for keeper in late:
            keeper.join(_LEAVE_SECONDS)
        return not late

    def _failure(self) -> str | None:
        return next((keeper.failure for keeper in self._keepers if keeper.failure is not None), None)

    def _changed(self) -> None:
        with self._changes:
            self._changes.notify_all()
