"""Reading a decision back."""

from sqlalchemy import Engine, select

from pinch_server.core.insight import StoredDecision
from pinch_server.store.rows import stored_of
from pinch_server.store.tables import prune_decisions

__all__ = ["StoredDecision", "get"]


def get(engine: Engine, decision_id: str) -> StoredDecision | None:
    """Return the decision of that id, or None when the database does not have it.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
    """
    query = select(prune_decisions).where(prune_decisions.c.decision_id == decision_id)
    with engine.connect() as connection:
        row = connection.execute(query).mappings().first()
    return None if row is None else stored_of(row)
