"""The machine's clock and ids."""

from datetime import UTC, timedelta
from uuid import UUID

from pinch_server.clock import SystemClock, Uuid7Ids


def test_ids_are_uuid7_in_order() -> None:
    """Ids are canonical UUIDs of version 7, each greater than the one before, also in one millisecond."""
    clock, ids = SystemClock(), Uuid7Ids()
    made = [ids.decision_id(clock.now()) for _ in range(20_000)]
    assert made == sorted(set(made))
    assert all(str(UUID(one)) == one and UUID(one).version == 7 for one in made)


def test_an_id_tells_its_time() -> None:
    """The first 48 bits of an id are the milliseconds at which it was made."""
    now = SystemClock().now()
    milliseconds = UUID(Uuid7Ids().decision_id(now)).int >> 80
    assert abs(milliseconds - now.timestamp() * 1000) < timedelta(minutes=1) / timedelta(milliseconds=1)


def test_the_clock_is_utc() -> None:
    """The wall clock has its zone, and the other one never goes back."""
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() <= clock.monotonic()
