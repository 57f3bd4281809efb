"""A PostgreSQL server for the tests: one a session (or worker of pytest-xdist), a fresh database a test."""

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

_INSTALLED = Path("/usr/lib/postgresql")
_SETTINGS = (
    "-c listen_addresses='' -c fsync=off -c full_page_writes=off -c shared_buffers=16MB -c max_connections=50"
)


class PostgresServer:
    """A server in a directory of its own, reached by a unix socket in it, so that no port can be taken."""

    def __init__(self, programs: Path) -> None:
        """Make the cluster with the programs of that directory and start it."""
        self._programs = programs
        # PostgreSQL refuses to run as root, and its account could not enter pytest's own directories.
        self._account = _account()
        self._directory = Path(tempfile.mkdtemp(prefix="pinch-postgres-"))
        if self._account is not None:
            os.chown(self._directory, self._account.pw_uid, self._account.pw_gid)
        self._data = self._directory / "data"
        self._run(
            "initdb", "-D", str(self._data), "-U", "pinch", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"
        )
        self.start()

    def start(self) -> None:
        """Start the server and return once it takes connections."""
        log = self._directory / "log"
        options = f"-k {self._directory} {_SETTINGS}"
        self._run("pg_ctl", "start", "-w", "-D", str(self._data), "-l", str(log), "-o", options)

    def stop(self) -> None:
        """Stop the server, connections or not."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self._data))

    def remove(self) -> None:
        """Stop the server and delete all of it."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def url(self, database: str) -> str:
        """The URL of one of its databases."""
        return f"postgresql://pinch@/{database}?host={self._directory}"

    def run_sql(self, statement: str) -> None:
        """Run one statement outside any transaction, in the maintenance database."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        account = self._account
        # The server outlives pg_ctl: were its output a pipe, reading that would never end.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._directory,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
                check=False,
            )
            output.seek(0)
            assert done.returncode == 0, f"{program}: {output.read().decode(errors='replace')}"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running server; a test that stops it starts it again."""
    programs = _find_programs()
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


def _find_programs() -> Path | None:
    installed = sorted(_INSTALLED.glob("*/bin"), key=lambda path: _number(path.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    for place in [*installed, *([Path(on_path).resolve().parent] if on_path else [])]:
        if all(os.access(place / program, os.X_OK) for program in ("initdb", "pg_ctl", "postgres")):
            return place
    return None


def _number(version: str) -> float:
    try:
        return float(version)
    except ValueError:
        return 0.0


def _account() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL does not run as root, and there is no account postgres or nobody")
