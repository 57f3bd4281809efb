"""Empty databases of both kinds for a bench, deleted when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.postgres import PostgresServer, find_programs
from pinch_server.store import migrate

KINDS = ("sqlite", "postgresql")


class NoDatabaseError(Exception):
    """There is no database of that kind on this machine."""


@contextmanager
def empty_database(kind: str) -> Iterator[str]:
    """The URL of a migrated database.

    Args:
        kind: One of `KINDS`. For PostgreSQL a server of its own is started, with the settings of the
            tests: it does not wait for the disk.

    Raises:
        NoDatabaseError: No PostgreSQL is installed.
    """
    if kind == "sqlite":
        with TemporaryDirectory(prefix="pinch-bench-") as directory:
            url = f"sqlite:///{Path(directory, 'pinch.sqlite3')}"
            migrate.up(url)
            yield url
        return
    programs = find_programs()
    if programs is None:
        raise NoDatabaseError("no PostgreSQL server is installed (Debian: package postgresql)")
    server = PostgresServer(programs)
    try:
        server.run_sql("CREATE DATABASE bench")
        url = server.url("bench")
        migrate.up(url)
        yield url
    finally:
        server.remove()
