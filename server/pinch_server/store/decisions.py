"""Reading decisions back."""

from dataclasses import dataclass

from sqlalchemy import Engine, select

from pinch_server.core.decision import Decision, Outcome
from pinch_server.store.rows import decision_of, outcome_of
from pinch_server.store.tables import prune_decisions


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision as the database has it, with its outcome once one was reported."""

    decision: Decision
    outcome: Outcome | None


def get(engine: Engine, decision_id: str) -> StoredDecision | None:
    """Return the decision of that id, or None when the database does not have it.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database cannot be read.
    """
    query = select(prune_decisions).where(prune_decisions.c.decision_id == decision_id)
    with engine.connect() as connection:
        row = connection.execute(query).mappings().first()
    if row is None:
        return None
    columns = dict(row)
    return StoredDecision(decision_of(columns), outcome_of(columns))
