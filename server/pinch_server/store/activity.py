"""What the calls of each hour did: added up with the savings of the hour, else read from the decisions."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, and_, case, func, insert, literal, not_, select

from pinch_server.core.activity import LATENCY_BOUNDS_US
from pinch_server.core.insight import ActivityHour
from pinch_server.store.engine import reading
from pinch_server.store.measures import counted, positions
from pinch_server.store.periods import DAY, HOUR, ceil, floor, lay_out
from pinch_server.store.savings import with_decisions
from pinch_server.store.tables import activity_hours, prune_decisions

_RANKINGS: Final = ("hybrid", "cosine", "lexical", "uniform", "not_needed")

_d: Final = prune_decisions.c
_HOUR: Final = (_d.created_at - _d.created_at % HOUR).label("hour")


def hours(engine: Engine, now: int, days: int, *, grace_us: int) -> tuple[ActivityHour, ...]:
    """The hours of a window in which calls counted, in their order.

    Args:
        engine: The database.
        now: The end of the window (microseconds since the Unix epoch).
        days: Its length; an hour that began before it is left out (days).
        grace_us: How long an unreported decision does not count (microseconds).

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
    """
    start, end = ceil(now - days * DAY, HOUR), now + 1
    kept = activity_hours.c
    with reading(engine, at_one_moment=True) as connection:
        added = select(kept.start, kept.counts).where(
            kept.length == HOUR, kept.start >= start, kept.start <= floor(now - grace_us, HOUR) - HOUR
        )
        found = {row.start: msgspec.json.decode(row.counts) for row in connection.execute(added)}
        for gap_start, gap_end in with_decisions(connection, lay_out(start, end, (), found).gaps):
            found.update(_read(connection, gap_start, gap_end, now - grace_us + 1))
    return tuple(ActivityHour(hour, found[hour]) for hour in sorted(found) if found[hour])


def add_up_hour(connection: Connection, start: int) -> None:
    """Keeps what the calls of a settled hour did; in the transaction that adds up its savings."""
    _keep(connection, start, dict(_read(connection, start, start + HOUR, start + HOUR)).get(start, {}))


def keep_empty_hour(connection: Connection, start: int) -> None:
    """Likewise of an hour that no decision was made in."""
    _keep(connection, start, {})


def _keep(connection: Connection, start: int, counts: dict[str, int]) -> None:
    text = msgspec.json.encode(counts).decode()
    connection.execute(insert(activity_hours).values(length=HOUR, start=start, counts=text))


def _read(
    connection: Connection, start: int, end: int, pending_before: int
) -> Iterator[tuple[int, dict[str, int]]]:
    counts = counted(start, end, pending_before)
    found = _sums(connection, counts)
    tools = select(_HOUR, _d.trimmed_tools, func.count().label("calls")).where(
        counts, _d.trimmed_tools.is_not(None)
    )
    for row in connection.execute(tools.group_by(*positions(2))):
        for name, trims in (one.rsplit(" ", 1) for one in row.trimmed_tools.split(",")):
            by_name = found[row.hour]
            by_name[f"tool_{name}"] = by_name.get(f"tool_{name}", 0) + int(trims) * row.calls
    yield from found.items()


def _sums(connection: Connection, counts: ColumnElement[bool]) -> dict[int, dict[str, int]]:
    columns = [func.sum(value).label(name) for name, value in _MEASURES.items()]
    rows = connection.execute(select(_HOUR, *columns).where(counts).group_by(*positions(1))).mappings()
    # PostgreSQL sums into its own kind of decimal.
    return {row["hour"]: {name: int(row[name]) for name in _MEASURES if row[name]} for row in rows}


def _measures() -> dict[str, ColumnElement[Any]]:
    saved = _d.pinch_original_tokens - _d.pinch_final_tokens
    found: dict[str, ColumnElement[Any]] = {
        "calls": literal(1),
        "pruned_calls": _one_if(saved > 0),
        "tokens_before": _d.pinch_original_tokens,
        "tokens_after": _d.pinch_final_tokens,
        "tokens_saved": case((saved > 0, saved), else_=0),
        "elided": _d.elided,
        "omitted": _d.omitted,
        "capped": _d.capped,
        "previous_messages": func.coalesce(_d.prefix_previous_messages, 0),
        "matched_messages": func.coalesce(_d.prefix_matched_messages, 0),
    }
    for ranking in _RANKINGS:
        found[f"ranking_{ranking}"] = _one_if(_d.ranking == ranking.upper())
    lower = -1
    for bound in LATENCY_BOUNDS_US:
        found[f"latency_us_{bound}"] = _one_if(and_(_d.latency_us > lower, _d.latency_us <= bound))
        lower = bound
    found["latency_us_inf"] = _one_if(not_(_d.latency_us <= lower))
    return found


def _one_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


_MEASURES: Final = _measures()
