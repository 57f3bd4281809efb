"""Leaves an endpoint alone after failures in a row, and tries it again with one call at a time."""

from collections.abc import Callable
from threading import Lock
from typing import Final

FAILURES: Final = 3
"""Failures in a row after which calls stop."""
PAUSE_SECONDS: Final = 15.0
"""How long they stop before one call may try again (seconds)."""


class Breaker:
    """Counts failures in a row. Shared by threads.

    Each `allows()` that said yes is answered by exactly one of `succeeded`, `failed` and `abandoned`.

    Args:
        monotonic: A clock that never goes back (seconds).
        failures: Failures in a row after which calls stop.
        pause_seconds: How long they stop (seconds).
    """

    def __init__(
        self,
        monotonic: Callable[[], float],
        *,
        failures: int = FAILURES,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._monotonic = monotonic
        self._most = failures
        self._pause = pause_seconds
        self._lock = Lock()
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    def allows(self) -> bool:
        """Whether a call may go out now; after a pause, yes to one caller alone until it has reported."""
        with self._lock:
            if self._opened_at is None:
                return True
            if self._probing or self._monotonic() - self._opened_at < self._pause:
                return False
            self._probing = True
            return True

    def succeeded(self) -> None:
        """The endpoint answered: whatever was counted is forgotten."""
        with self._lock:
            self._failures = 0
            self._opened_at = None
            self._probing = False

    def failed(self) -> None:
        """The endpoint failed: one more, and a failed probe starts the pause anew."""
        with self._lock:
            self._failures += 1
            if self._probing or (self._opened_at is None and self._failures >= self._most):
                self._opened_at = self._monotonic()
            self._probing = False

    def abandoned(self) -> None:
        """The call ended without saying anything about the endpoint, for example because its caller went."""
        with self._lock:
            self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether calls are held back, a probe excepted."""
        return self._opened_at is not None
