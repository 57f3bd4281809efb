"""Opening databases: the URLs that are taken, the ones that are not, and what SQLite is set to."""

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from pinch_server.store.engine import open_engine, read_url, shown, without_secrets, writing
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


@pytest.mark.parametrize(
    "url",
    ["", "pinch.db", "mysql://db/pinch", "sqlite://", "sqlite:///:memory:", "postgresql://u:p@h:port/d"],
)
def test_urls_that_are_refused(url: str) -> None:
    """What is no URL, another database, or one that keeps nothing is refused before anything starts."""
    with pytest.raises(UnsupportedDatabase):
        open_engine(url)


def test_a_url_is_shown_without_its_password() -> None:
    """What people are shown has the password hidden."""
    assert shown("postgres://pinch:secret@db/pinch") == "postgresql://pinch:********@db/pinch"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://pinch:s3cret@db:5432/pinch",
        "postgresql://pinch@db/pinch?password=s3cret&host=/run",
        "postgresql:///pinch?user=pinch&password=s3cret",
        "postgresql://pinch:s3cret/with@slash@db/pinch",
        "postgresql://pinch:s3cret?x@db/pinch",
        "postgresql://pinch@db/pinch?password=s3cret@x",
        "postgresql+psycopg://pinch:x:s3cret@[::1]:5432/pinch",
    ],
)
def test_no_spelling_of_a_url_shows_its_password(url: str) -> None:
    """Wherever the password stands in a URL, people are not shown it."""
    assert "s3cret" not in shown(url)
    assert shown(url).startswith("postgresql://")


def test_what_a_driver_says_is_told_without_secrets() -> None:
    """A driver that quotes a password of the URL, or of its query, is not quoted with it."""
    url = "postgresql://pinch:s3cret@db/pinch?sslpassword=t0psecret&host=/run"
    words = without_secrets(url, "s3cret and t0psecret do not open /run")
    assert words == "******** and ******** do not open /run"


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


def test_a_second_connection_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """Rows written after another process looked into the file are there for the next one that looks."""
    file = tmp_path / "pinch.sqlite3"
    engine = open_engine(f"sqlite:///{file}")
    _execute(engine, "CREATE TABLE kept (id INTEGER)")
    assert _rows_seen_elsewhere(file) == 0
    with engine.connect() as first, engine.connect():
        assert first.execute(text("SELECT count(*) FROM kept")).scalar() == 0
        assert _rows_seen_elsewhere(file) == 0
        first.rollback()
        with first.begin():
            first.execute(text("INSERT INTO kept VALUES (1)"))
        assert _rows_seen_elsewhere(file) == 1
    engine.dispose()


def _rows_seen_elsewhere(file: Path) -> int:
    """What a process of its own counts."""
    look = (
        "import sqlite3, sys; connection = sqlite3.connect(sys.argv[1]);"
        "print(connection.execute('SELECT count(*) FROM kept').fetchone()[0]); connection.close()"
    )
    ran = subprocess.run([sys.executable, "-c", look, str(file)], check=True, capture_output=True, text=True)
    return int(ran.stdout)
