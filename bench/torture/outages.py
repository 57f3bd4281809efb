"""Databases that can be taken away and given back while a service uses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection

from bench.databases import NoDatabaseError
from bench.postgres import PostgresServer, find_programs
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine


class Outage(Protocol):
    """A database whose outage can be arranged."""

    @property
    def url(self) -> str:
        """Where it is."""
        ...

    def down(self) -> None:
        """Takes it away; harmless when it is."""
        ...

    def up(self) -> None:
        """Gives it back; harmless when it is there."""
        ...


class LockedSqlite:
    """An SQLite file; while it is down, someone else holds its write lock and does not let go."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = open_engine(url)
        self._holding: Connection | None = None

    def down(self) -> None:
        """Takes the write lock."""
        if self._holding is None:
            self._holding = self._engine.connect().execution_options(pinch_writes=True)
            self._holding.begin()

    def up(self) -> None:
        """Gives it back."""
        if self._holding is not None:
            self._holding.close()
            self._holding = None

    def close(self) -> None:
        """Lets the file go."""
        self.up()
        self._engine.dispose()


class StoppedPostgres:
    """A PostgreSQL server; while it is down, it is not running."""

    def __init__(self, server: PostgresServer, database: str) -> None:
        self.url = server.url(database)
        self._server = server
        self._is_up = True

    def down(self) -> None:
        """Stops it at once, connections or not."""
        if self._is_up:
            self._server.stop()
            self._is_up = False

    def up(self) -> None:
        """Starts it, and returns once it takes connections."""
        if not self._is_up:
            self._server.start()
            self._is_up = True


@contextmanager
def outage(kind: str, directory: Path) -> Iterator[Outage]:
    """A migrated database of its own, up in the end.

    Args:
        kind: `sqlite` or `postgresql`.
        directory: Where an SQLite file goes.

    Raises:
        NoDatabaseError: No PostgreSQL is installed.
    """
    if kind == "sqlite":
        url = f"sqlite:///{directory / 'pinch.sqlite3'}"
        migrate.up(url)
        locked = LockedSqlite(url)
        try:
            yield locked
        finally:
            locked.close()
        return
    programs = find_programs()
    if programs is None:
        raise NoDatabaseError("no PostgreSQL server is installed (Debian: package postgresql)")
    server = PostgresServer(programs)
    stopped = StoppedPostgres(server, "torture")
    try:
        server.run_sql("CREATE DATABASE torture")
        migrate.up(stopped.url)
        yield stopped
    finally:
        stopped.up()
        server.remove()
