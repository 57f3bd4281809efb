"""Forgetting what is past its time, a few at a time so that nobody waits for it."""

from sqlalchemy import Column, Engine, delete, select

from pinch_server.store.engine import writing
from pinch_server.store.tables import embedding_vectors, prune_decisions, savings_periods

BATCH = 500
"""Rows deleted at most in one transaction."""


def delete_batch(engine: Engine, before: int, size: int = BATCH) -> int:
    """Deletes the oldest decisions, at most `size`, and first the sums of the periods they are in.

    Args:
        engine: The database.
        before: Those made before this go (microseconds since the Unix epoch).
        size: How many at most.

    Returns:
        How many were deleted; fewer than `size` when no more are left.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database refused; nothing changed.
    """
    made = prune_decisions.c.created_at
    with engine.connect() as connection:
        # Most of the time nothing is due, and then nothing is locked for it.
        if connection.execute(select(made).where(made < before).limit(1)).first() is None:
            return 0
    with writing(engine) as connection:
        connection.execute(delete(savings_periods).where(savings_periods.c.start < before))
        oldest = select(prune_decisions.c.decision_id).where(made < before).order_by(made).limit(size)
        if connection.dialect.name == "postgresql":
            # Rows that another worker is deleting are left to it.
            oldest = oldest.with_for_update(skip_locked=True)
        due = connection.execute(oldest).scalars().all()
        these = delete(prune_decisions).where(prune_decisions.c.decision_id.in_(due))
        return connection.execute(these).rowcount


def delete_vectors(engine: Engine, before: int, size: int = BATCH) -> int:
    """Deletes vectors of an embedding endpoint, at most `size`.

    Args:
        engine: The database.
        before: Those stored before this go (microseconds since the Unix epoch).
        size: How many at most.

    Returns:
        How many were deleted; 0 when no more are left.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database refused; nothing changed.
    """
    return delete_keyed(engine, embedding_vectors.c.created_at, before, size)


def delete_keyed(engine: Engine, age: Column[int], before: int, size: int = BATCH) -> int:
    """Deletes rows of a table with a `key`, at most `size`.

    Args:
        engine: The database.
        age: The table's column that says how old a row is.
        before: Those older than this go (microseconds since the Unix epoch).
        size: How many at most.

    Returns:
        How many were deleted; 0 when no more are left.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The database refused; nothing changed.
    """
    table = age.table
    with engine.connect() as connection:
        old = select(table.c.key).where(age < before).limit(size)
        due = connection.execute(old).scalars().all()
    if not due:
        return 0
    with writing(engine) as connection:
        return connection.execute(delete(table).where(table.c.key.in_(due))).rowcount
