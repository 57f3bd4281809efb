"""Reading what a window saved: from added-up periods where there are any, else from the decisions."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, and_, func, or_, select

from pinch_server.core.insight import SavedTokens, SavingsQuery
from pinch_server.core.savings import Sums
from pinch_server.store import values
from pinch_server.store.engine import reading
from pinch_server.store.measures import (
    GROUPS,
    PRICED,
    SUM_COLUMNS,
    SUMS,
    counted,
    filtered,
    positions,
    saved_lists,
)
from pinch_server.store.periods import DAY, HOUR, Layout, ceil, floor, lay_out
from pinch_server.store.tables import prune_decisions, savings_periods, savings_sums, savings_values


def saved_tokens(engine: Engine, query: SavingsQuery, *, grace_us: int) -> SavedTokens:
    """Adds up the calls of a window, all in the state the database was in at one moment.

    Args:
        engine: The database.
        query: Which calls.
        grace_us: How long an unreported decision does not count (microseconds).

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
    """
    with reading(engine, at_one_moment=True) as connection:
        layout = _layout(connection, query, grace_us)
        pending_before = query.now - grace_us + 1
        found = _sums_of_periods(connection, query, layout)
        counts, saved = _values_of_gaps(connection, query, layout, pending_before)
        for start, end in layout.gaps:
            found += _sums_of_decisions(connection, query, counted(start, end, pending_before))
        return SavedTokens(tuple(found), _median(connection, query, layout, counts, saved))


def _layout(connection: Connection, query: SavingsQuery, grace_us: int) -> Layout:
    start, end = query.now - query.window_days * DAY, query.now + 1
    periods = savings_periods.c
    # Where decisions are in their grace period they are read, whatever that was when they were added up.
    settled = floor(query.now - grace_us, HOUR)
    whole = select(periods.length, periods.start).where(
        periods.start >= ceil(start, HOUR), periods.start + periods.length <= settled
    )
    added: Mapping[int, set[int]] = {HOUR: set(), DAY: set()}
    for length, period in connection.execute(whole):
        added[length].add(period)
    layout = lay_out(start, end, added[DAY], added[HOUR])
    return Layout(layout.runs, with_decisions(connection, layout.gaps))


def with_decisions(connection: Connection, gaps: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """The gaps without the time before the first decision, which is most of a window that is not full yet."""
    if not gaps:
        return ()
    made = prune_decisions.c.created_at
    first = connection.execute(select(func.min(made)).where(made >= gaps[0][0])).scalar_one()
    return tuple((max(start, first), end) for start, end in gaps if first is not None and first < end)


def _in_runs(columns: Any, layout: Layout) -> ColumnElement[bool]:
    return or_(
        *(
            and_(columns.length == run.length, columns.start >= run.start, columns.start < run.end)
            for run in layout.runs
        )
    )


def _sums_of_periods(connection: Connection, query: SavingsQuery, layout: Layout) -> list[Sums]:
    if not layout.runs:
        return []
    columns = savings_sums.c
    by = [columns[name] for name in PRICED]
    rows = connection.execute(
        select(*by, *(func.sum(columns[name]).label(name) for name in SUMS))
        .where(_in_runs(columns, layout), *filtered(columns, query))
        .group_by(*by)
    )
    return [_sums_of(row) for row in rows.mappings()]


def _sums_of_decisions(
    connection: Connection, query: SavingsQuery, counts: ColumnElement[bool]
) -> list[Sums]:
    statement = select(*GROUPS, *SUM_COLUMNS).where(counts, *filtered(prune_decisions.c, query))
    statement = statement.group_by(*positions(len(GROUPS)))
    return [_sums_of(row) for row in connection.execute(statement).mappings()]


def _sums_of(row: RowMapping) -> Sums:
    return Sums(
        prompt_rate=row["prompt_rate"],
        cached_rate=row["cached_rate"],
        cache_write_rate=row["cache_write_rate"],
        model=row["priced_model"],
        # PostgreSQL sums into its own kind of decimal.
        **{name: int(row[name]) for name in SUMS},
    )


_Saved = dict[int, list[values.Values]]


def _values_of_gaps(
    connection: Connection, query: SavingsQuery, layout: Layout, pending_before: int
) -> tuple[dict[int, int], _Saved]:
    counts: dict[int, int] = {}
    saved: _Saved = {}
    for start, end in layout.gaps:
        statement = saved_lists().where(
            counted(start, end, pending_before), *filtered(prune_decisions.c, query)
        )
        for row in connection.execute(statement).mappings():
            for digits, some in values.by_digits(values.parse(row["saved"])):
                counts[digits] = counts.get(digits, 0) + len(some)
                saved.setdefault(digits, []).append(some)
    return counts, saved


def _median(
    connection: Connection, query: SavingsQuery, layout: Layout, counts: dict[int, int], saved: _Saved
) -> Any:
    if layout.runs:
        columns = savings_values.c
        these = and_(_in_runs(columns, layout), *filtered(columns, query))
        counting = select(columns.digits, func.sum(columns["count"])).where(these).group_by(columns.digits)
        for digits, count in connection.execute(counting):
            counts[digits] = counts.get(digits, 0) + int(count)
        middle = values.middle_groups(counts)
        packed = select(columns.digits, columns.tokens).where(these, columns.digits.in_(middle))
        pieces: dict[int, list[bytes]] = {}
        for digits, tokens in connection.execute(packed):
            pieces.setdefault(digits, []).append(tokens)
        for digits, some in pieces.items():
            saved.setdefault(digits, []).append(values.unpack(b"".join(some), digits))
    return values.median(counts, saved)
