"""Opening databases: the URLs that are taken, the ones that are not, and what SQLite is set to."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from pinch_server.store.engine import open_engine, read_url, shown, writing
from pinch_server.store.errors import UnsupportedDatabase


def _execute(engine: Engine, *statements: str) -> None:
    with writing(engine) as connection:
        for statement in statements:
            connection.execute(text(statement))


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("postgresql://pinch@db/pinch", "postgresql+psycopg"),
        ("postgres://pinch@db/pinch", "postgresql+psycopg"),
        ("postgresql+psycopg://pinch@db/pinch", "postgresql+psycopg"),
        ("postgresql+psycopg2://pinch@db/pinch", "postgresql+psycopg"),
        ("sqlite:////var/lib/pinch/pinch.sqlite3", "sqlite+pysqlite"),
        ("sqlite:///pinch.sqlite3", "sqlite+pysqlite"),
    ],
)
def test_urls_that_are_taken(url: str, driver: str) -> None:
    """Every usual way to write a PostgreSQL or SQLite URL leads to the one driver that is used."""
    assert read_url(url).drivername == driver


@pytest.mark.parametrize("url", ["", "pinch.db", "mysql://db/pinch", "sqlite://", "sqlite:///:memory:"])
def test_urls_that_are_refused(url: str) -> None:
    """What is no URL, another database, or one that keeps nothing is refused before anything starts."""
    with pytest.raises(UnsupportedDatabase):
        open_engine(url)


def test_a_url_is_shown_without_its_password() -> None:
    """What people are shown has the password hidden."""
    assert shown("postgres://pinch:secret@db/pinch") == "postgresql://pinch:***@db/pinch"


@pytest.mark.parametrize(("durable", "synchronous"), [(False, 1), (True, 2)])
def test_sqlite_is_set_for_many_writers(tmp_path: Path, durable: bool, synchronous: int) -> None:
    """SQLite runs in WAL mode, waits for locks, and syncs as far as asked for."""
    engine = open_engine(f"sqlite:///{tmp_path}/pinch.sqlite3", durable=durable)
    with engine.connect() as connection:
        settings = [
            connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "busy_timeout", "synchronous")
        ]
    engine.dispose()
    assert settings == ["wal", 10_000, synchronous]


def test_schema_changes_are_rolled_back(tmp_path: Path) -> None:
    """A table made in a transaction that fails is not there afterwards."""
    engine = open_engine(f"sqlite:///{tmp_path}/pinch.sqlite3")
    two_statements = "CREATE TABLE half (made TEXT)", "INSERT INTO nowhere VALUES (1)"
    with pytest.raises(OperationalError, match="nowhere"):
        _execute(engine, *two_statements)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar_one() == 0
    engine.dispose()
