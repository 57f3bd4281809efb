"""One sandbox for the tests of a file, and a new database for each test."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pinch_server.extract.sandbox import Sandbox
from pinch_server.store.engine import open_engine
from tests.services.migrated import migrated


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with closing(Sandbox()) as started:
        started.start()
        yield started


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(migrated(tmp_path / "pinch.sqlite3"))
    yield engine
    engine.dispose()
