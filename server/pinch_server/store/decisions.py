"""Reading a decision back."""

from dataclasses import replace
from typing import Final

import msgspec
from sqlalchemy import Engine, select

from pinch_server.core.decision import Trim
from pinch_server.core.insight import StoredDecision
from pinch_server.store.rows import stored_of
from pinch_server.store.tables import decision_trims, prune_decisions

__all__ = ["StoredDecision", "get"]

_trims: Final = msgspec.json.Decoder(tuple[Trim, ...]).decode


def get(engine: Engine, decision_id: str) -> StoredDecision | None:
    """Return the decision of that id with its receipt, or None when the database does not have it.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
    """
    query = select(prune_decisions).where(prune_decisions.c.decision_id == decision_id)
    receipt = select(decision_trims.c.trims).where(decision_trims.c.decision_id == decision_id)
    with engine.connect() as connection:
        row = connection.execute(query).mappings().first()
        trims = connection.execute(receipt).scalar()
    if row is None:
        return None
    stored = stored_of(row)
    return (
        stored if trims is None else replace(stored, decision=replace(stored.decision, trims=_trims(trims)))
    )
