"""A PostgreSQL server of one's own: in a directory of its own, reached by a unix socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

_INSTALLED = Path("/usr/lib/postgresql")
_SETTINGS = (
    "-c listen_addresses='' -c fsync=off -c full_page_writes=off -c shared_buffers=16MB -c max_connections=50"
)


class ServerError(Exception):
    """One of PostgreSQL's programs failed; the text has what it said."""


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
        account, setpriv = self._account, shutil.which("setpriv")
        if account is not None and setpriv is not None:
            # Told to change the user, Python forks instead of calling vfork; beside threads that are inside
            # gRPC such a child may end by SIGSEGV before it is the program.
            ids = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")
            command, account = [setpriv, *ids, *command], None
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
            said = output.read().decode(errors="replace")
            if done.returncode != 0:
                raise ServerError(f"{program} ended with status {done.returncode}: {said}")


def find_programs() -> Path | None:
    """The directory of a PostgreSQL server's programs, the newest installed; None where there is none."""
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
