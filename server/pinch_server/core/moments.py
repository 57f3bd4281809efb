"""Moments as they are stored and sent: whole microseconds since the Unix epoch."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def unix_micros(moment: datetime) -> int:
    """A moment, which must know its time zone, as microseconds since the Unix epoch, exactly."""
    return (moment - _EPOCH) // _MICROSECOND
