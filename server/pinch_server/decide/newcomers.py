"""The call that came last, to which a large conversation that is worked on gives way for a moment."""

import threading
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from pinch_server.ports import Clock

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")

_NEWEST_SHARE: Final = 0.1
"""What the last call counts for in the share of large ones: ten of them make up most of it."""
_MOST_LARGE: Final = 0.5
"""The share of large calls above which nobody is given way to."""


class Newcomer:
    """A call that came.

    Attributes:
        came: When, by the monotonic clock (seconds).
        is_over: Whether nobody need wait for it any longer: it was answered, or is large itself.
    """

    __slots__ = ("_over", "came", "is_over")

    def __init__(self, came: float) -> None:
        self.came: Final = came
        self.is_over = False
        # A lock alone: an event, which has one and more, costs each call ten times as much.
        self._over = threading.Lock()
        self._over.acquire()

    def over(self) -> None:
        """Lets those go on that wait for it; only the thread that answers it may say so."""
        if not self.is_over:
            self.is_over = True
            self._over.release()

    def wait(self, seconds: float) -> None:
        """Waits until it is over, but no longer than so many seconds."""
        if self._over.acquire(timeout=seconds):
            self._over.release()


class Newcomers:
    """The calls of one process as they come. Shared by its threads.

    Whether a call is large is known when its message is there, and until then it may be in vain that another
    gave way to it. So nobody does where most calls turned out to be large.

    Args:
        clock: The time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._own = threading.local()
        self._newest: Newcomer | None = None
        self._large_share = 0.0

    @property
    def newest(self) -> Newcomer | None:
        """The call that came last, answered or not; None where most calls are large."""
        return self._newest if self._large_share <= _MOST_LARGE else None

    def came(self, answer: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
        """Notes that a call came.

        Args:
            answer: What will answer it, on a thread.

        Returns:
            What is to answer it in its place, so that it is known when it is over.
        """
        newcomer = self._newest = Newcomer(self._clock.monotonic())

        def answered(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Answer:
            self._own.call = newcomer
            try:
                return answer(*arguments, **named)
            finally:
                if not newcomer.is_over:
                    newcomer.over()
                    self._learn(0)

        return answered

    def is_large(self) -> None:
        """Says of the call that this thread answers that nobody need give way to it."""
        own: Newcomer | None = getattr(self._own, "call", None)
        if own is not None:
            own.over()
            self._learn(1)

    def _learn(self, is_large: int) -> None:
        # Threads may tread on each other here: what one call counts for may be lost.
        self._large_share += _NEWEST_SHARE * (is_large - self._large_share)
