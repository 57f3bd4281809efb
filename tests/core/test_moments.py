"""Moments as microseconds since the Unix epoch."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from pinch_server.core.moments import unix_micros


@pytest.mark.parametrize(
    ("moment", "micros"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        (datetime(2025, 11, 30, tzinfo=UTC), 1_764_460_800_000_000),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 253_402_300_799_999_999),
    ],
)
def test_a_moment_is_exact(moment: datetime, micros: int) -> None:
    """No microsecond is lost, however far from the epoch."""
    assert unix_micros(moment) == micros


def test_a_time_zone_does_not_matter() -> None:
    """The same moment has the same number in every time zone."""
    moment = datetime(2025, 11, 30, 12, tzinfo=UTC)
    assert unix_micros(moment.astimezone(timezone(timedelta(hours=5, minutes=30)))) == unix_micros(moment)
