"""What the extraction model cost today, all processes together, and never more than it may."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Engine, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from pinch_server.store.engine import writing
from pinch_server.store.tables import extraction_spend

_NANOS: Final = 1_000_000_000
_LOG: Final = logging.getLogger(__name__)


class DatabaseSpending:
    """The day's spending in a database. Shared by threads.

    Args:
        engine: The database; its schema should be current.
        daily_usd: Most that a UTC day may cost (USD).
        now: The time.
    """

    def __init__(
        self, engine: Engine, daily_usd: float, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._engine = engine
        self._most = round(daily_usd * _NANOS)
        self._now = now

    def today(self) -> str:
        """Names the UTC day."""
        return self._now().astimezone(UTC).date().isoformat()

    def set_aside(self, usd: float, day: str) -> bool | None:
        """Takes an amount out of a day's; False when so much is not left, None when nobody knows (USD)."""
        table, amount = extraction_spend, round(usd * _NANOS)
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        try:
            with writing(self._engine) as connection:
                begun = dialect.insert(table).on_conflict_do_nothing(index_elements=["day"])
                connection.execute(begun, {"day": day, "nanos": 0})
                is_left = table.c.nanos + amount <= self._most
                taken = update(table).where(table.c.day == day, is_left)
                return connection.execute(taken.values(nanos=table.c.nanos + amount)).rowcount == 1
        except SQLAlchemyError as error:
            # By its type alone: a driver's message may hold the URL.
            _LOG.warning("nobody knows what the day has cost: %s", type(error).__name__)
            return None

    def settle(self, usd: float, cost_usd: float, day: str) -> None:
        """Puts back what was set aside of a day's, and takes what the call cost instead (USD)."""
        table, change = extraction_spend, round((cost_usd - usd) * _NANOS)
        try:
            with writing(self._engine) as connection:
                its = update(table).where(table.c.day == day)
                connection.execute(its.values(nanos=table.c.nanos + change))
        except SQLAlchemyError as error:
            # What was set aside stays taken: the day costs less than it seems, never more.
            _LOG.warning("what a call cost is not noted: %s", type(error).__name__)
