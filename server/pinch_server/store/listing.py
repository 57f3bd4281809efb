"""Pages of decisions, newest first."""

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Engine, not_, select, tuple_

from pinch_server.core.insight import DecisionFilter, Page, Position
from pinch_server.store.engine import reading
from pinch_server.store.rows import storable, stored_of
from pinch_server.store.tables import prune_decisions

MOST_LOOKED_AT: Final = 100_000
"""Decisions that are looked at for one page; some 50 ms on SQLite."""

_INDEXED: Final = ("request_id", "session_hash")
_NOT_INDEXED: Final = ("route", "model", "format", "outcome", "pruned", "dry_run")

_d = prune_decisions.c
_PLACE: Final = tuple_(_d.created_at, _d.decision_id)
_NEWEST_FIRST: Final = (_d.created_at.desc(), _d.decision_id.desc())


def page(
    engine: Engine,
    chosen: DecisionFilter,
    size: int,
    after: Position | None = None,
    *,
    most: int = MOST_LOOKED_AT,
) -> Page:
    """Returns the decisions that come next; a decision made meanwhile moves none to another page.

    Args:
        engine: The database.
        chosen: Which decisions.
        size: How many at most.
        after: The last one of the page before; None: from the newest.
        most: How many are looked at, where no index leads to the chosen ones.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
    """
    span = _span(chosen, after)
    with reading(engine) as connection:
        bound = _bound(connection, span, most) if _needs_a_scan(chosen) else None
        if bound is not None:
            span.append((bound.created_at, bound.decision_id) <= _PLACE)
        query = select(prune_decisions).where(*span, *_conditions(chosen)).order_by(*_NEWEST_FIRST)
        rows = connection.execute(query.limit(size + 1)).mappings().all()
    found = tuple(map(stored_of, rows[:size]))
    if len(rows) > size:
        return Page(found, Position(found[-1].decision.created_at, found[-1].decision.decision_id))
    return Page(found, bound)


def _bound(connection: Connection, span: list[ColumnElement[Any]], most: int) -> Position | None:
    """The last decision that a page is looked for in; None where fewer are left."""
    query = select(_d.created_at, _d.decision_id).where(*span).order_by(*_NEWEST_FIRST)
    last = connection.execute(query.offset(most - 1).limit(1)).first()
    return None if last is None else Position(last.created_at, last.decision_id)


def _needs_a_scan(chosen: DecisionFilter) -> bool:
    """Whether decisions have to be read one by one to see whether they are among the chosen."""
    is_given = {name: getattr(chosen, name) is not None for name in (*_INDEXED, *_NOT_INDEXED)}
    return any(is_given[name] for name in _NOT_INDEXED) and not any(is_given[name] for name in _INDEXED)


def _span(chosen: DecisionFilter, after: Position | None) -> list[ColumnElement[Any]]:
    """What the index of times and ids answers."""
    found: list[ColumnElement[Any]] = []
    if chosen.created_from is not None:
        found.append(_d.created_at >= chosen.created_from)
    if chosen.created_before is not None:
        found.append(_d.created_at < chosen.created_before)
    if after is not None:
        found.append((after.created_at, after.decision_id) > _PLACE)
    return found


def _conditions(chosen: DecisionFilter) -> list[ColumnElement[Any]]:
    found: list[ColumnElement[Any]] = [
        _d[name] == storable(value)
        for name in ("route", "model", "format", "request_id", "session_hash")
        if (value := getattr(chosen, name)) is not None
    ]
    if chosen.outcome is not None:
        found.append(_d.outcome == chosen.outcome.lower())
    if chosen.dry_run is not None:
        found.append(_d.dry_run if chosen.dry_run else not_(_d.dry_run))
    if chosen.pruned is not None:
        # A disabled call has no sizes, and did not become smaller either.
        smaller = _d.pinch_original_tokens > _d.pinch_final_tokens
        found.append(smaller if chosen.pruned else smaller.is_not(True))
    return found
