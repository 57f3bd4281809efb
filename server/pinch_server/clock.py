"""The machine's clock and new ids: what the use case's Clock and Ids ports are in a running service."""

import time
from datetime import UTC, datetime

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
