"""Adding up whole hours and days once, so that savings over millions of decisions are read in milliseconds.

A period is added up when nothing in it is within the grace period any more. Whoever changes a decision of it
afterwards, by a late outcome or a journal found after an outage, takes its sums away in the same
transaction (`forget`); they are made again at the next round. What is not added up is read from the decisions
themselves, so savings are exact at any time.

On PostgreSQL, writers of one hour share an advisory lock that the adding up takes for itself: it sees all of
their rows, or they take its sums away. SQLite has one writer at a time.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection, Engine, delete, func, insert, literal, or_, select, text

from pinch_server.store import activity, values
from pinch_server.store.engine import writing
from pinch_server.store.measures import (
    FILTERED,
    GROUPS,
    PRICED,
    SUM_COLUMNS,
    SUMS,
    counted,
    positions,
    saved_lists,
)
from pinch_server.store.periods import DAY, HOUR, ceil, floor
from pinch_server.store.tables import prune_decisions, savings_periods, savings_sums, savings_values

LONGEST_DAYS: Final = 400
"""How far back periods are added up; what is older is read from the decisions (days)."""

_LOG: Final = logging.getLogger(__name__)
_MARGIN: Final = 60_000_000
# Two numbers name an advisory lock; the first keeps clear of other locks of the database: "pinc" as ASCII.
_LOCKS: Final = 0x70696E63


def forget(connection: Connection, changed_at: Iterable[int]) -> None:
    """Takes away the sums of the periods in which decisions were added or changed.

    Must be the last step of the transaction that did so.

    Args:
        connection: A connection in that transaction.
        changed_at: When those decisions were made (microseconds since the Unix epoch).
    """
    hours = sorted({floor(moment, HOUR) for moment in changed_at})
    if not hours:
        return
    if connection.dialect.name == "postgresql":
        shared = text(
            "SELECT pg_advisory_xact_lock_shared(:locks, hour) FROM unnest(CAST(:hours AS int[])) AS hour"
        )
        connection.execute(shared, {"locks": _LOCKS, "hours": [_number(hour) for hour in hours]})
    days = sorted({floor(hour, DAY) for hour in hours})
    periods = savings_periods.c
    connection.execute(
        delete(savings_periods).where(
            or_(
                (periods.length == HOUR) & periods.start.in_(hours),
                (periods.length == DAY) & periods.start.in_(days),
            )
        )
    )


class RollUp:
    """Adds up the hours and days that can be."""

    def __init__(self, engine: Engine, *, grace_us: int) -> None:
        """Work on `engine`; decisions younger than `grace_us` microseconds may still be reported on."""
        self._engine = engine
        self._grace_us = grace_us

    def missing(self, now: int, oldest: int | None = None) -> Iterator[tuple[int, int]]:
        """The periods that can be added up and are not, each as length and start; a day after its hours.

        Args:
            now: Microseconds since the Unix epoch.
            oldest: Nothing that begins before this is looked at (likewise).

        Raises:
            sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
        """
        end = floor(now - self._grace_us - _MARGIN, HOUR)
        start = max(now - LONGEST_DAYS * DAY, oldest or 0)
        with self._engine.connect() as connection:
            first = select(func.min(prune_decisions.c.created_at)).where(
                prune_decisions.c.created_at >= ceil(start, HOUR)
            )
            found = connection.execute(first).scalar_one()
            if found is None:
                return
            start = floor(found, HOUR)
            periods = savings_periods.c
            query = select(periods.length, periods.start).where(periods.start >= floor(start, DAY))
            done = {(row.length, row.start) for row in connection.execute(query)}
        for hour in range(start, end, HOUR):
            if (HOUR, hour) not in done:
                yield HOUR, hour
            day = floor(hour, DAY)
            if hour + HOUR == day + DAY and day >= start and (DAY, day) not in done:
                yield DAY, day

    def add_up(self, length: int, start: int) -> bool:
        """Adds up one period, in a transaction of its own.

        Returns:
            False when someone else is at it or has done it, or when hours of the day are missing.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: The database refused; nothing changed.
        """
        hours = range(start, start + length, HOUR)
        with writing(self._engine) as connection:
            if not _lock(connection, hours):
                return False
            periods = savings_periods.c
            query = select(periods.length, periods.start).where(
                periods.start >= start, periods.start < start + length
            )
            done = {(row.length, row.start) for row in connection.execute(query)}
            if (length, start) in done or (length == DAY and not all((HOUR, hour) in done for hour in hours)):
                return False
            connection.execute(insert(savings_periods).values(length=length, start=start))
            if length == DAY:
                _add_up_day(connection, start)
            elif _has_decisions(connection, start):
                _add_up_hour(connection, start)
                activity.add_up_hour(connection, start)
            else:
                activity.keep_empty_hour(connection, start)
        return True


def _lock(connection: Connection, hours: Iterable[int]) -> bool:
    """Takes each hour for this transaction alone, without waiting; whether that worked for all."""
    if connection.dialect.name != "postgresql":
        return True
    lock = text("SELECT pg_try_advisory_xact_lock(:locks, :hour)")
    return all(
        connection.execute(lock, {"locks": _LOCKS, "hour": _number(hour)}).scalar_one() for hour in hours
    )


def _number(hour: int) -> int:
    # A number that fits where the lock wants one, whatever a clock said.
    return hour // HOUR % 2**31


def _has_decisions(connection: Connection, start: int) -> bool:
    """Whether anything was decided in an hour; of most of a quiet service's hours, nothing was."""
    made = prune_decisions.c.created_at
    some = select(literal(1)).where(made >= start, made < start + HOUR).limit(1)
    return connection.execute(some).first() is not None


def _add_up_hour(connection: Connection, start: int) -> None:
    end = start + HOUR
    counts = counted(start, end, end)
    names = ("length", "start", *FILTERED, *PRICED, *SUMS)
    query = select(literal(HOUR), literal(start), *GROUPS, *SUM_COLUMNS).where(counts)
    query = query.group_by(*positions(len(GROUPS), first=3))
    connection.execute(insert(savings_sums).from_select(names, query))
    rows: list[dict[str, Any]] = []
    for row in connection.execute(saved_lists().where(counts)).mappings():
        rows += _packed(HOUR, start, row, values.parse(row["saved"]))
    if rows:
        connection.execute(insert(savings_values), rows)


def _add_up_day(connection: Connection, start: int) -> None:
    by = (*FILTERED, *PRICED)
    hours = savings_sums.c
    columns = [hours[name] for name in by]
    added = [func.sum(hours[name]) for name in SUMS]
    query = select(literal(DAY), literal(start), *columns, *added).where(
        hours.length == HOUR, hours.start >= start, hours.start < start + DAY
    )
    names = ("length", "start", *by, *SUMS)
    connection.execute(insert(savings_sums).from_select(names, query.group_by(*columns)))
    kept = savings_values.c
    parts: dict[tuple[str, ...], list[values.Values]] = {}
    some = select(savings_values).where(kept.length == HOUR, kept.start >= start, kept.start < start + DAY)
    for row in connection.execute(some).mappings():
        key = tuple(row[name] for name in FILTERED)
        parts.setdefault(key, []).append(values.unpack(row["tokens"], row["digits"]))
    rows: list[dict[str, Any]] = []
    for key, some_values in parts.items():
        rows += _packed(
            DAY, start, dict(zip(FILTERED, key, strict=True)), np.sort(np.concatenate(some_values))
        )
    if rows:
        connection.execute(insert(savings_values), rows)


def _packed(length: int, start: int, group: Any, saved: values.Values) -> Iterator[dict[str, Any]]:
    for digits, some in values.by_digits(saved):
        yield {
            "length": length,
            "start": start,
            **{name: group[name] for name in FILTERED},
            "digits": digits,
            "count": len(some),
            "tokens": values.pack(some, digits),
        }
