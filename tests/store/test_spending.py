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
    today = spending.today()
    assert spending.set_aside(0.7, today)
    assert spending.set_aside(0.4, today) is False
    spending.settle(0.7, 0.5, today)
    assert spending.set_aside(0.4, today)
    assert DatabaseSpending(engine, 1.0, now=calendar).set_aside(0.2, today) is False
    calendar.now += timedelta(minutes=1)
    tomorrow = spending.today()
    assert spending.set_aside(1.0, tomorrow)
    assert spending.set_aside(0.000_000_001, tomorrow) is False


def test_what_is_put_back_is_put_back_to_its_own_day(engine: Engine) -> None:
    """A call that goes over midnight gives the new day nothing of what was set aside of the old one."""
    calendar = Calendar()
    spending = DatabaseSpending(engine, 1.0, now=calendar)
    before = spending.today()
    assert spending.set_aside(0.9, before)
    calendar.now += timedelta(minutes=1)
    assert spending.set_aside(0.6, spending.today())
    spending.settle(0.9, 0.1, before)
    assert spending.set_aside(0.5, spending.today()) is False
    assert spending.set_aside(0.9, before)


def test_processes_spend_together(engine: Engine) -> None:
    """Of many that set aside at once, only as many succeed as the day can pay."""
    calendar = Calendar()
    purses = [DatabaseSpending(engine, 1.0, now=calendar) for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda purse: purse.set_aside(0.25, purse.today()), purses))
    assert won.count(True) == 4


def test_nothing_is_spent_where_nobody_knows(tmp_path: object) -> None:
    """Without the table, setting aside gives no answer, and settling says nothing."""
    engine = open_engine(f"sqlite:///{tmp_path}/empty.sqlite3")
    spending = DatabaseSpending(engine, 1.0)
    assert spending.set_aside(0.1, spending.today()) is None
    spending.settle(0.1, 0.1, spending.today())
    engine.dispose()
