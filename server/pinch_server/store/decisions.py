"""Reading a decision back."""

from dataclasses import replace
from typing import Final

import msgspec
from sqlalchemy import Connection, Engine, RowMapping, literal, select, tuple_

from pinch_server.core.decision import Trim
from pinch_server.core.insight import StoredDecision
from pinch_server.store.engine import reading
from pinch_server.store.rows import stored_of
from pinch_server.store.tables import decision_trims, prune_decisions

__all__ = ["StoredDecision", "get"]

_COUNTS: Final = ("elided", "omitted", "capped")
_trims: Final = msgspec.json.Decoder(tuple[Trim, ...]).decode


def get(engine: Engine, decision_id: str) -> StoredDecision | None:
    """Return the decision of that id with its receipt, or None when the database does not have it.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
    """
    query = select(prune_decisions).where(prune_decisions.c.decision_id == decision_id)
    receipt = select(decision_trims.c.trims).where(decision_trims.c.decision_id == decision_id)
    with reading(engine) as connection:
        row = connection.execute(query).mappings().first()
        if row is None:
            return None
        kept = connection.execute(receipt).scalar()
        trims = _repeated(connection, row) if kept is None else _trims(kept)
    stored = stored_of(row)
    return replace(stored, decision=replace(stored.decision, trims=trims)) if trims else stored


def _repeated(connection: Connection, row: RowMapping) -> tuple[Trim, ...]:
    """The receipt of a decision that repeats the trims of the one before: its session's last that was stored.

    Only one with the same counts: a conversation that was changed or forked repeats something else.
    """
    if row["session_hash"] is None or not any(row[name] for name in _COUNTS):
        return ()
    columns = prune_decisions.c
    is_before = tuple_(columns.created_at, columns.decision_id) < tuple_(
        literal(row["created_at"]), literal(row["decision_id"])
    )
    query = (
        select(decision_trims.c.trims, *(columns[name] for name in _COUNTS))
        .join(prune_decisions, columns.decision_id == decision_trims.c.decision_id)
        .where(
            columns.session_hash == row["session_hash"],
            columns.tenant_hash.is_not_distinct_from(row["tenant_hash"]),
            is_before,
        )
        .order_by(columns.created_at.desc(), columns.decision_id.desc())
        .limit(1)
    )
    found = connection.execute(query).mappings().first()
    if found is None or any(found[name] != row[name] for name in _COUNTS):
        return ()
    return tuple(trim._replace(is_new=False) for trim in _trims(found["trims"]))
