"""The machine's clock and new ids: what the use case's Clock and Ids ports are in a running service."""

import time
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final
from uuid import UUID

from uuid_utils import uuid7


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """A clock that never goes back (seconds)."""
        return time.perf_counter()


class Uuid7Ids:
    """Ids that sort by the time they were made."""

    def decision_id(self, now: datetime) -> str:
        """A UUIDv7 in its canonical text form.

        Args:
            now: Not used: only when the library reads the clock itself, a moment later, is every id greater
                than the one before it, also within a millisecond.
        """
        del now
        return str(uuid7())

    def request_id(self) -> str:
        """An id for a call whose caller gave it none."""
        return str(uuid7())


TESTING_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The one moment of a server for tests."""


class StandingClock(SystemClock):
    """A wall clock that stands at `TESTING_NOW`; deadlines and waits still take their time."""

    def now(self) -> datetime:
        """Always the same moment, in UTC."""
        return TESTING_NOW


class CountedIds:
    """The same ids at every run: those of `TESTING_NOW`, numbered from 1."""

    def __init__(self) -> None:
        self._decisions = count(1)
        self._requests = count(1)

    def decision_id(self, now: datetime) -> str:
        """A UUIDv7 that ends in its number, `...-000000000001` for the first."""
        return _numbered(now, next(self._decisions))

    def request_id(self) -> str:
        """The same, numbered apart."""
        return _numbered(TESTING_NOW, next(self._requests))


def _numbered(now: datetime, number: int) -> str:
    milliseconds = (now - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return str(UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | number))
