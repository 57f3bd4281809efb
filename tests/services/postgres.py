"""A PostgreSQL server for the tests: one a session (or worker of pytest-xdist), a fresh database a test."""

import os
import uuid
from collections.abc import Iterator

import pytest

from bench.postgres import PostgresServer, find_programs

__all__ = ["PostgresServer", "postgres_server", "postgres_url"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running server; a test that stops it starts it again."""
    programs = find_programs()
    if programs is None:
        reason = "no PostgreSQL here: neither in /usr/lib/postgresql nor on PATH (Debian: package postgresql)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    server = PostgresServer(programs)
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database that only this test uses."""
    name = f"pinch_{uuid.uuid4().hex}"
    postgres_server.run_sql(f"CREATE DATABASE {name}")
    try:
        yield postgres_server.url(name)
    finally:
        postgres_server.run_sql(f"DROP DATABASE {name} WITH (FORCE)")
