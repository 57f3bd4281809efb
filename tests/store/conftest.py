"""Databases for the tests of the store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from tests.services.migrated import migrated
from tests.store.samples import CountingObserver


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/pinch.sqlite3"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def engine(database_url: str, tmp_path: Path) -> Iterator[Engine]:
    """A database with the current schema, of each kind in turn."""
    if database_url.startswith("sqlite"):
        assert migrated(tmp_path / "pinch.sqlite3") == database_url
    else:
        migrate.up(database_url)
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def observer() -> CountingObserver:
    """Counts what the store reports."""
    return CountingObserver()
