"""How a batch of new decisions gets into the database."""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection, Insert, bindparam, func, select, true
from sqlalchemy.dialects import postgresql, sqlite

from pinch_server.core.decision import Decision
from pinch_server.store.rows import DECISION_FIELDS, decision_row
from pinch_server.store.tables import prune_decisions

_POSTGRESQL: Final = postgresql.insert(prune_decisions).on_conflict_do_nothing(index_elements=["decision_id"])


def insert_new(connection: Connection, decisions: Sequence[Decision]) -> int:
    """Inserts the decisions that are not there yet, in the order of their ids.

    Returns:
        How many were inserted.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database refused.
    """
    rows = [decision_row(one) for one in sorted(decisions, key=lambda one: one.decision_id)]
    if connection.dialect.name == "postgresql":
        counted = {"preserve_rowcount": True}
        return connection.execute(_POSTGRESQL, rows, execution_options=counted).rowcount
    batch = msgspec.json.encode([tuple(row.values()) for row in rows]).decode()
    return connection.execute(_SQLITE, {"batch": batch}).rowcount


def _from_json() -> Insert:
    """One statement for a whole batch, given as a JSON array of rows.

    SQLite's driver gives up the interpreter lock for each row of an executemany and then has to win it back
    from the threads that answer calls; a batch in one statement gives it up once.
    """
    batch = func.json_each(bindparam("batch")).table_valued("value")
    columns = [func.json_extract(batch.c.value, f"$[{index}]") for index in range(len(DECISION_FIELDS))]
    # Without a WHERE, SQLite would take ON CONFLICT for the ON of a join.
    rows = select(*columns).where(true())
    insert = sqlite.insert(prune_decisions).from_select(DECISION_FIELDS, rows, include_defaults=False)
    return insert.on_conflict_do_nothing(index_elements=["decision_id"])


_SQLITE: Final = _from_json()
