"""Opening a database: SQLite in WAL mode, or PostgreSQL through psycopg."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from pinch_server.settings.checks import HIDDEN, without_password
from pinch_server.store.errors import UnsupportedDatabase

_WRITES = "pinch_writes"
_SECRET = frozenset({"password", "sslpassword", "passfile", "sslkey", "options"})
_SQLITE_WAIT_MS = 10_000
READ_SECONDS = 20.0
"""How long a statement that answers a question may take (seconds)."""

_POSTGRESQL_DEFAULTS = {
    # A server that vanished without a word is noticed within half a minute instead of never.
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def read_url(url: str) -> URL:
    """Return the URL with the driver that Pinch uses: `postgresql://` means psycopg 3.

    Raises:
        UnsupportedDatabase: It is no URL, or of a database other than a SQLite file or PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise UnsupportedDatabase(
            "the database must be a URL such as sqlite:////var/lib/pinch/pinch.db or "
            "postgresql://user:password@host/name"
        ) from error
    dialect = parsed.drivername.partition("+")[0]
    if dialect in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if dialect != "sqlite":
        raise UnsupportedDatabase(f"{dialect} is not supported: decisions are kept in SQLite or PostgreSQL")
    if parsed.database in (None, "", ":memory:"):
        raise UnsupportedDatabase(
            "an in-memory SQLite database keeps nothing: name a file, sqlite:////path/to/file"
        )
    return parsed.set(drivername="sqlite+pysqlite")


def shown(url: str) -> str:
    """Return the URL for people to read, without its password and its query, which may hold one too."""
    kind = read_url(url).get_backend_name()
    return without_password(f"{kind}://{url.partition('://')[2]}")


def without_secrets(url: str, words: str) -> str:
    """Return what a database or its driver said, with the URL's password and other secrets hidden."""
    parsed = read_url(url)
    values = [value for name in parsed.query for value in parsed.normalized_query[name] if name in _SECRET]
    for secret in filter(None, [str(parsed.password or ""), *values]):
        words = words.replace(secret, HIDDEN)
    return words


def open_engine(url: str, *, durable: bool = False, pooled: bool = True) -> Engine:
    """Open a database; nothing is connected to before the first use.

    Args:
        url: `sqlite:////path`, `postgresql://…` or `postgresql+psycopg://…`.
        durable: With SQLite, make each commit survive a power loss as well (synchronous FULL instead of
            NORMAL). PostgreSQL does so by its own settings.
        pooled: Keep connections for the next use. Without, each is closed when handed back.

    Raises:
        UnsupportedDatabase: The URL names something else, or its driver is not installed.
    """
    parsed = read_url(url)
    options: dict[str, Any] = {} if pooled else {"poolclass": sqlalchemy.NullPool}
    if parsed.get_backend_name() == "postgresql":
        # What the URL itself says wins over these.
        defaults = {name: value for name, value in _POSTGRESQL_DEFAULTS.items() if name not in parsed.query}
        try:
            return sqlalchemy.create_engine(parsed, connect_args=defaults, pool_pre_ping=pooled, **options)
        except ImportError as error:
            raise UnsupportedDatabase(
                f"PostgreSQL needs its driver; in the checkout: pip install '.[server,postgres]' ({error})"
            ) from error
    engine = sqlalchemy.create_engine(parsed, **options)
    _tune_sqlite(engine, "FULL" if durable else "NORMAL")
    return engine


@contextmanager
def reading(
    engine: Engine, seconds: float | None = None, *, at_one_moment: bool = False
) -> Iterator[Connection]:
    """Give a connection to read by, whose statements PostgreSQL ends when they take long.

    A table that somebody has locked would else hold each caller's thread until it is let go.

    Args:
        engine: The database.
        seconds: How long each statement may take, waiting for locks included; None: `READ_SECONDS` (seconds).
        at_one_moment: Whether all statements see the state the database was in at one moment.
    """
    with engine.connect() as connection:
        # SQLite reads one state in any transaction, and readers wait for nobody.
        if connection.dialect.name == "postgresql":
            if at_one_moment:
                connection.execution_options(isolation_level="REPEATABLE READ")
            most = READ_SECONDS if seconds is None else seconds
            # For this transaction alone: the connection may be shared behind a pooler.
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(most * 1000)}")
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Give a connection inside a transaction that will write; it is committed at the end, or rolled back."""
    with engine.connect() as connection:
        writer = connection.execution_options(**{_WRITES: True})
        with writer.begin():
            yield writer


def sqlite_directory(url: str) -> Path | None:
    """Return the directory that holds a SQLite file, or None for PostgreSQL."""
    parsed = read_url(url)
    if parsed.get_backend_name() != "sqlite":
        return None
    return Path(parsed.database or "").absolute().parent


def _tune_sqlite(engine: Engine, synchronous: str) -> None:
    """Set what SQLite wants set on each connection, and let transactions begin as SQLAlchemy says."""

    def connected(connection: Any, _record: object) -> None:
        # The driver's own implicit BEGIN leaves schema changes outside transactions.
        connection.isolation_level = None
        for setting in (
            f"busy_timeout = {_SQLITE_WAIT_MS}",
            "journal_mode = WAL",
            f"synchronous = {synchronous}",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {setting}")

    def connecting(_dialect: object, _record: object, arguments: list[Any], _options: object) -> None:
        file = str(arguments[0])
        if file.startswith("file:"):
            return
        # Made before SQLite would, for its owner alone; SQLite gives its companions the same mode. A file
        # that is there is never opened here: closing it would drop every lock this process has on it, and
        # another process would then take away the log that rows are being written to.
        with suppress(OSError):
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def begun(connection: Connection) -> None:
        # A transaction that reads before it writes fails at once when another writer came between; taking the
        # write lock at its beginning waits for busy_timeout instead.
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "do_connect", connecting)
    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
