"""Stored vectors: what is kept comes back as it was, and nobody waits for a database that hangs."""

import threading

import numpy as np
from sqlalchemy import Engine, event, func, select

from pinch_server.store.engine import open_engine
from pinch_server.store.tables import embedding_vectors
from pinch_server.store.vectors import DatabaseVectors


def a_vector(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=8).astype(np.float16).astype(np.float32)


def kept(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(embedding_vectors)).scalar_one()


def test_a_vector_comes_back_as_it_was(engine: Engine) -> None:
    """Another process reads the very numbers, and only those that were asked for."""
    given = {bytes([n]) * 32: a_vector(n) for n in range(3)}
    writer = DatabaseVectors(engine)
    writer.write(given)
    writer.write(given)
    writer.close()
    reader = DatabaseVectors(engine, read_seconds=60)
    found = reader.read([b"\0" * 32, b"\2" * 32, b"\7" * 32])
    reader.close()
    assert found.keys() == {b"\0" * 32, b"\2" * 32}
    for key, vector in found.items():
        assert vector.tobytes() == given[key].tobytes()


def test_a_vector_of_another_dimension_takes_the_place(engine: Engine) -> None:
    """What is kept stays as it is, unless the endpoint answers in another dimension now."""
    key = b"a" * 32
    vectors = DatabaseVectors(engine, read_seconds=60)
    for given in (a_vector(1), a_vector(2), a_vector(3)[:4], a_vector(4)[:4]):
        vectors.write({key: given})
    vectors.close()
    reader = DatabaseVectors(engine, read_seconds=60)
    found = reader.read([key])
    reader.close()
    assert found[key].tobytes() == a_vector(3)[:4].tobytes()


def test_a_closed_store_gives_nothing_and_keeps_nothing(engine: Engine) -> None:
    """A call that outlives the service's patience at a stop goes on without stored vectors."""
    vectors = DatabaseVectors(engine, read_seconds=60)
    vectors.close()
    vectors.write({b"a" * 32: a_vector(1)})
    assert vectors.read([b"a" * 32]) == {}
    assert kept(engine) == 0


def test_a_database_without_the_table_gives_nothing(tmp_path: object) -> None:
    """Neither reading nor writing raises when the database cannot do it."""
    engine = open_engine(f"sqlite:///{tmp_path}/empty.sqlite3")
    vectors = DatabaseVectors(engine, read_seconds=60)
    vectors.write({b"a" * 32: a_vector(1)})
    assert vectors.read([b"a" * 32]) == {}
    vectors.close()
    engine.dispose()


def test_nobody_waits_for_a_database_that_hangs(engine: Engine) -> None:
    """A read that is not answered in time finds nothing, and the next one does not even begin."""
    go_on = threading.Event()
    begun: list[str] = []

    def hang(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("SELECT"):
            begun.append(statement)
            go_on.wait(60)

    event.listen(engine, "before_cursor_execute", hang)
    vectors = DatabaseVectors(engine, read_seconds=0.01)
    assert vectors.read([b"a" * 32]) == {}
    assert vectors.read([b"a" * 32]) == {}
    go_on.set()
    vectors.close()
    event.remove(engine, "before_cursor_execute", hang)
    assert len(begun) <= 1
