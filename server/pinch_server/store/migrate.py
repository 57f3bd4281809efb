"""Bringing a database's schema to this version's, once, however many processes try at the same time."""

import fcntl
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, func, inspect, select, text
from sqlalchemy import table as sql_table
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from pinch_server.store.engine import open_engine, read_url, shown, sqlite_directory, without_secrets, writing
from pinch_server.store.errors import (
    DatabaseRefused,
    DatabaseUnreachable,
    DataWouldGo,
    MigrationFailed,
    SchemaAhead,
    SchemaBehind,
)
from pinch_server.store.revisions import BASE, Revisions
from pinch_server.store.tables import metadata

# Any number will do as long as nothing else in the database locks it: "pinch" as ASCII.
_ADVISORY_LOCK = 0x70696E6368
_VERSION_TABLE = "alembic_version"
# The driver tells no code when it cannot connect.
_REFUSED = re.compile(
    r"""(?:database|role)\ ".*"\ does\ not\ exist | authentication\ failed\ for\ user
      | no\ pg_hba\.conf\ entry
      | is\ not\ permitted\ to\ log\ in | permission\ denied\ for\ database | no\ password\ supplied""",
    re.VERBOSE,
)
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration did: the revision before and the one after, None where there is no schema."""

    before: str | None
    after: str | None

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return self.before != self.after


def up(url: str, revision: str = "head") -> Migrated:
    """Migrate upwards to a revision, `head` being this version's.

    Raises:
        WrongRevision: There is no such revision, or no way up ends there; nothing has changed.
        SchemaAhead: A newer version of Pinch migrated this database.
        MigrationFailed: The database refused a step; nothing has changed.
        DatabaseUnreachable: It cannot be connected to.
    """
    return _migrate(url, lambda found: _known().above(revision, found), command.upgrade)


def down(url: str, revision: str, *, may_lose: bool = True) -> Migrated:
    """Migrate downwards to a revision; `-1` is one step, `base` removes the tables and all that is in them.

    Args:
        url: The database.
        revision: Where to end.
        may_lose: Whether tables and columns may go.

    Raises:
        DataWouldGo: One would go, and none may; nothing has changed.
        WrongRevision: There is no such revision, or no way down ends there; nothing has changed.
        SchemaAhead: A newer version of Pinch migrated this database.
        MigrationFailed: The database refused a step; nothing has changed.
        DatabaseUnreachable: It cannot be connected to.
    """

    def run(config: Config, revision: str) -> None:
        connection: Connection = config.attributes["connection"]
        before = {} if may_lose else _contents(connection)
        command.downgrade(config, revision)
        after = {} if may_lose else _contents(connection)
        gone = {name: rows for name, rows in before.items() if name not in after}
        # A column that goes with its table needs no words of its own.
        lost = {name: rows for name, rows in gone.items() if name.rpartition(".")[0] not in gone}
        if lost:
            # Leaving the transaction like this takes back all that was done in it.
            raise DataWouldGo(shown(url), revision, lost)

    return _migrate(url, lambda found: _known().below(revision, found), run)


def exists(url: str) -> bool:
    """Return whether there is a database to look at; only a SQLite file can be known to be missing."""
    return not _is_missing_file(url)


def current(url: str) -> str | None:
    """Return the revision the database is at, None when it has no schema; a missing SQLite file is not made.

    Raises:
        DatabaseUnreachable: It cannot be connected to.
    """
    if _is_missing_file(url):
        return None
    with _errors(url), _connected(url) as connection:
        return _revision(connection)


def head() -> str:
    """Return the revision that this version of Pinch needs."""
    return _known().known[-1]


def check(url: str) -> tuple[str, ...]:
    """Compare the database with this version's tables.

    Returns:
        The differences in words; none when it is as it should be.

    Raises:
        SchemaBehind: It has to be migrated first.
        SchemaAhead: A newer version of Pinch migrated this database.
        DatabaseUnreachable: It cannot be connected to.
    """
    _require_head(url, current(url))
    with _errors(url), _connected(url) as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        return tuple(str(difference) for difference in compare_metadata(context, metadata))


def sql(url: str, revisions: str = "head") -> str:
    """Return the SQL of a migration for the URL's kind of database, without connecting to it.

    Args:
        url: Says for which kind of database.
        revisions: The revision to end at, or `from:to`; downwards where `to` is the earlier one.

    Returns:
        The SQL; empty where both are the same revision.

    Raises:
        WrongRevision: There is no such revision.
    """
    known = _known()
    first, last = known.between(revisions)
    if first == last:
        return ""
    config = _config()
    config.attributes["url"] = url
    buffer = config.output_buffer = io.StringIO()
    # Alembic prints an empty transaction for the wrong one of the two.
    lead = command.downgrade if known.is_down(first, last) else command.upgrade
    with _errors(url):
        lead(config, f"{first}:{last}", sql=True)
    return buffer.getvalue()


def ensure_current(url: str, migrate: bool) -> None:
    """Make sure before a start that the schema is this version's.

    A SQLite file is brought up to date; PostgreSQL, which others may be using, only when told to.

    Args:
        url: The database.
        migrate: Whether to migrate PostgreSQL too.

    Raises:
        SchemaBehind: It has to be migrated first; the text has the command.
        SchemaAhead: A newer version of Pinch migrated this database.
        MigrationFailed: The database refused a step.
        DatabaseUnreachable: It cannot be connected to.
        DatabaseRefused: The server is there, and the URL's user, password or database is not right.
    """
    found = current(url)
    if found == head():
        return
    if migrate or sqlite_directory(url) is not None:
        up(url)
    else:
        _require_head(url, found)


def require_current(url: str) -> None:
    """Make sure before reading that the schema is this version's; nothing is changed, and no file made.

    Raises:
        SchemaBehind: It has to be migrated first; the text has the command.
        SchemaAhead: A newer version of Pinch migrated this database.
        DatabaseUnreachable: It cannot be connected to.
    """
    _require_head(url, current(url))


@contextmanager
def migrating(url: str) -> Iterator[Connection]:
    """Give a connection in a transaction that no other migration of this database can be in as well."""
    directory = sqlite_directory(url)
    with _directory_lock(directory), _connected(url, write=True) as connection:
        if directory is None:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        yield connection


def _migrate(url: str, end: Callable[[str | None], str], run: Callable[[Config, str], None]) -> Migrated:
    # Where there is no file, none is made to say no, or to have nothing to go down from.
    if _is_missing_file(url) and end(None) == BASE:
        return Migrated(None, None)
    config = _config()
    with _errors(url), migrating(url) as connection:
        before = _revision(connection)
        _refuse_unknown(url, before)
        config.attributes["connection"] = connection
        run(config, end(before))
        return Migrated(before, _revision(connection))


def _require_head(url: str, found: str | None) -> None:
    _refuse_unknown(url, found)
    if found != head():
        raise SchemaBehind(shown(url), found, head())


def _refuse_unknown(url: str, found: str | None) -> None:
    if found is not None and found not in _known().known:
        raise SchemaAhead(shown(url), found, head())


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _contents(connection: Connection) -> dict[str, int | None]:
    """Return the rows of each table, and None for each column, named `table.column`."""
    found: dict[str, int | None] = {}
    inspector = inspect(connection)
    for table in inspector.get_table_names():
        if table != _VERSION_TABLE:
            found[table] = connection.execute(select(func.count()).select_from(sql_table(table))).scalar_one()
            found |= {f"{table}.{column['name']}": None for column in inspector.get_columns(table)}
    return found


def _config() -> Config:
    # The wheel carries the migrations inside the package; in a checkout they are at its top.
    places = (_PACKAGE / "migrations", _PACKAGE.parent.parent / "migrations")
    config = Config()
    config.set_main_option(
        "script_location", str(next(p for p in places if (p / "env.py").is_file())).replace("%", "%%")
    )
    config.set_main_option("path_separator", "os")
    return config


def _known() -> Revisions:
    scripts = ScriptDirectory.from_config(_config()).walk_revisions()
    return Revisions(tuple(script.revision for script in scripts)[::-1])


def _is_missing_file(url: str) -> bool:
    return sqlite_directory(url) is not None and not Path(read_url(url).database or "").exists()


@contextmanager
def _connected(url: str, *, write: bool = False) -> Iterator[Connection]:
    engine = open_engine(url, pooled=False)
    try:
        try:
            engine.connect().close()
        except DBAPIError as error:
            reason = _reason(url, error)
            kind = DatabaseRefused if _REFUSED.search(reason) else DatabaseUnreachable
            raise kind(f"cannot open the database {shown(url)}: {reason}") from error
        with writing(engine) if write else engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _directory_lock(directory: Path | None) -> Iterator[None]:
    """Hold the lock on a SQLite file's directory: SQLite itself cannot wait while others switch to WAL."""
    if directory is None:
        yield
        return
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _errors(url: str) -> Iterator[None]:
    """Say what went wrong in the store's own terms."""
    try:
        yield
    except CommandError as error:
        raise MigrationFailed(f"cannot migrate {shown(url)}: {error}") from error
    except OSError as error:
        raise DatabaseUnreachable(f"cannot open the database {shown(url)}: {error}") from error
    except SQLAlchemyError as error:
        raise MigrationFailed(f"the database {shown(url)} refused: {_reason(url, error)}") from error


def _reason(url: str, error: SQLAlchemyError) -> str:
    """Return what the database said, without the statement, the manual's address and the URL's secrets."""
    return without_secrets(url, str(error.orig if isinstance(error, DBAPIError) else error).strip())
