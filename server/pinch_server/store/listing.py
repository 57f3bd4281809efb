"""Pages of decisions, newest first."""

from typing import Any

from sqlalchemy import ColumnElement, Engine, not_, select, tuple_

from pinch_server.core.insight import DecisionFilter, Position, StoredDecision
from pinch_server.store.rows import storable, stored_of
from pinch_server.store.tables import prune_decisions

_d = prune_decisions.c


def page(
    engine: Engine, chosen: DecisionFilter, size: int, after: Position | None = None
) -> tuple[StoredDecision, ...]:
    """Returns the decisions that come next; a decision made meanwhile moves none to another page.

    Args:
        engine: The database.
        chosen: Which decisions.
        size: How many at most.
        after: The last one of the page before; None: from the newest.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
    """
    query = select(prune_decisions).where(*_conditions(chosen))
    if after is not None:
        query = query.where(tuple_(_d.created_at, _d.decision_id) < (after.created_at, after.decision_id))
    query = query.order_by(_d.created_at.desc(), _d.decision_id.desc()).limit(size)
    with engine.connect() as connection:
        return tuple(stored_of(row) for row in connection.execute(query).mappings())


def _conditions(chosen: DecisionFilter) -> list[ColumnElement[Any]]:
    found: list[ColumnElement[Any]] = [
        _d[name] == storable(value)
        for name in ("route", "model", "format", "request_id", "session_hash")
        if (value := getattr(chosen, name)) is not None
    ]
    if chosen.created_from is not None:
        found.append(_d.created_at >= chosen.created_from)
    if chosen.created_before is not None:
        found.append(_d.created_at < chosen.created_before)
    if chosen.outcome is not None:
        found.append(_d.outcome == chosen.outcome.lower())
    if chosen.dry_run is not None:
        found.append(_d.dry_run if chosen.dry_run else not_(_d.dry_run))
    if chosen.pruned is not None:
        # A disabled call has no sizes, and did not become smaller either.
        smaller = _d.pinch_original_tokens > _d.pinch_final_tokens
        found.append(smaller if chosen.pruned else smaller.is_not(True))
    return found
