"""How a batch of new decisions gets into the database."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Insert, Table, bindparam, func, select, true
from sqlalchemy.dialects import postgresql, sqlite

from pinch_server.core.decision import Decision
from pinch_server.store.rows import DECISION_FIELDS, decision_row
from pinch_server.store.tables import decision_trims, prune_decisions

_TRIMS: Final = ("decision_id", "trims")
_POSTGRESQL_TRIMS: Final = postgresql.insert(decision_trims).on_conflict_do_nothing(
    index_elements=["decision_id"]
)
_POSTGRESQL: Final = postgresql.insert(prune_decisions).on_conflict_do_nothing(index_elements=["decision_id"])


def insert_new(connection: Connection, decisions: Sequence[Decision]) -> int:
    """Inserts the decisions that are not there yet, in the order of their ids.

    Returns:
        How many were inserted.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database refused.
    """
    in_order = sorted(decisions, key=lambda one: one.decision_id)
    rows = [decision_row(one) for one in in_order]
    trims = [(one.decision_id, msgspec.json.encode(one.trims).decode()) for one in in_order if one.trims]
    if connection.dialect.name == "postgresql":
        counted = {"preserve_rowcount": True}
        inserted = connection.execute(_POSTGRESQL, rows, execution_options=counted).rowcount
        if trims:
            connection.execute(_POSTGRESQL_TRIMS, [dict(zip(_TRIMS, one, strict=True)) for one in trims])
        return inserted
    inserted = connection.execute(_SQLITE, {"batch": _json([tuple(row.values()) for row in rows])}).rowcount
    if trims:
        connection.execute(_SQLITE_TRIMS, {"batch": _json(trims)})
    return inserted


def _json(rows: Sequence[tuple[Any, ...]]) -> str:
    return msgspec.json.encode(rows).decode()


def _from_json(table: Table, names: Sequence[str]) -> Insert:
    """One statement for a whole batch, given as a JSON array of rows.

    SQLite's driver gives up the interpreter lock for each row of an executemany and then has to win it back
    from the threads that answer calls; a batch in one statement gives it up once.
    """
    batch = func.json_each(bindparam("batch")).table_valued("value")
    columns = [func.json_extract(batch.c.value, f"$[{index}]") for index in range(len(names))]
    # Without a WHERE, SQLite would take ON CONFLICT for the ON of a join.
    rows = select(*columns).where(true())
    insert = sqlite.insert(table).from_select(names, rows, include_defaults=False)
    return insert.on_conflict_do_nothing(index_elements=["decision_id"])


_SQLITE: Final = _from_json(prune_decisions, DECISION_FIELDS)
_SQLITE_TRIMS: Final = _from_json(decision_trims, _TRIMS)
