"""The day's spending: never over its bound, whoever spends, and unknown where the database is."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from pinch_server.store.engine import open_engine
from pinch_server.store.spending import DatabaseSpending


@dataclass
class Calendar:
    """A wall clock that is set by hand."""

    now: datetime = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_a_day_costs_no_more_than_it_may(engine: Engine) -> None:
    """What is set aside and what calls cost stay within the bound; the next day begins anew."""
    calendar = Calendar()
    spending = DatabaseSpending(engine, 1.0, now=calendar)
    assert spending.set_aside(0.7)
    assert spending.set_aside(0.4) is False
    spending.settle(0.7, 0.5)
    assert spending.set_aside(0.4)
    assert DatabaseSpending(engine, 1.0, now=calendar).set_aside(0.2) is False
    calendar.now += timedelta(minutes=1)
    assert spending.set_aside(1.0)
    assert spending.set_aside(0.000_000_001) is False


def test_processes_spend_together(engine: Engine) -> None:
    """Of many that set aside at once, only as many succeed as the day can pay."""
    calendar = Calendar()
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda _: DatabaseSpending(engine, 1.0, now=calendar).set_aside(0.25), range(16)))
    assert won.count(True) == 4


def test_nothing_is_spent_where_nobody_knows(tmp_path: object) -> None:
    """Without the table, setting aside gives no answer, and settling says nothing."""
    engine = open_engine(f"sqlite:///{tmp_path}/empty.sqlite3")
    spending = DatabaseSpending(engine, 1.0)
    assert spending.set_aside(0.1) is None
    spending.settle(0.1, 0.1)
    engine.dispose()
