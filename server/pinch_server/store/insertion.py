"""How a batch of new decisions gets into the database."""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any, Final

import msgspec
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql

from pinch_server.core.decision import Decision
from pinch_server.store.rows import DECISION_FIELDS, decision_row
from pinch_server.store.tables import decision_trims, prune_decisions

_TRIMS: Final = ("decision_id", "trims")
_POSTGRESQL_TRIMS: Final = postgresql.insert(decision_trims).on_conflict_do_nothing(
    index_elements=["decision_id"]
)
_SIZES: Final = (64, 16, 4, 1)
"""Few of them, so that the driver keeps every statement compiled; SQLite takes 32,766 values in one."""
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
    inserted = _insert_rows(
        connection, prune_decisions.name, DECISION_FIELDS, [tuple(row.values()) for row in rows]
    )
    if trims:
        _insert_rows(connection, decision_trims.name, _TRIMS, trims)
    return inserted


def _insert_rows(
    connection: Connection, table: str, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> int:
    """Inserts rows by few statements, and gives how many were inserted.

    SQLite's driver gives up the interpreter lock for each row of an executemany and then has to win it back
    from the threads that answer calls; it gives it up once for each of these.
    """
    inserted = start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            values = tuple(chain.from_iterable(rows[start : start + size]))
            inserted += connection.exec_driver_sql(_statement(table, columns, size), values).rowcount
            start += size
    return inserted


@cache
def _statement(table: str, columns: tuple[str, ...], size: int) -> str:
    """The statement that inserts so many rows at once, where they are not there yet."""
    row = f"({', '.join('?' * len(columns))})"
    into = f"{table} ({', '.join(columns)})"
    # The driver takes thousands of values in no time where SQLAlchemy would look at each.
    rows = ", ".join([row] * size)
    return f"INSERT INTO {into} VALUES {rows} ON CONFLICT (decision_id) DO NOTHING"  # noqa: S608 - our own names
