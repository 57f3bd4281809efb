"""`pinch migrate`: the database's schema."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import click

from pinch_server.cli.console import EXIT_FAILED, EXIT_REFUSED, say, stop
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.state import database_url
from pinch_server.store import migrate
from pinch_server.store.engine import shown, sqlite_directory
from pinch_server.store.errors import DataWouldGo, StoreError, UnsupportedDatabase, WrongRevision

_Function = TypeVar("_Function", bound=Callable[..., object])


def _database_options(function: _Function) -> _Function:
    state_dir = click.option("--state-dir", metavar="DIR", help="Directory of the SQLite file.")
    url = click.option("--database-url", metavar="URL", help="Database; else that of the settings.")
    return config_option(state_dir(url(function)))


_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch migrate up --database-url postgresql://pinch@db/pinch",
        "pinch migrate current        the revision the database is at",
        "pinch migrate check          exit status 1 when the schema is not what this version needs",
        "pinch migrate sql            the SQL, for whoever must read it before it runs",
        "pinch migrate sql 0008:0007  the SQL of the way back, from the one to the other",
        "pinch migrate down -1        one step back; tables go only with --yes",
    ),
    lines(
        "Exit status",
        "0 done",
        "1 it failed, or the schema is not what this version needs",
        "2 asked for in the wrong way, or tables would go and --yes is not there",
    ),
)


@click.group("migrate", epilog=_EPILOG)
def migrate_command() -> None:
    """Bring the database's schema up to date, or look at it.

    `pinch serve` does this by itself for SQLite. For PostgreSQL, run it once before the new version starts;
    processes that run it at the same time migrate once.
    """


@migrate_command.command("up")
@click.argument("revision", default="head")
@_database_options
def up_command(
    revision: str, config_path: Path | None, database_url: str | None, state_dir: str | None
) -> None:
    """Migrate upwards.

    REVISION is this version's unless it is given. An SQLite file is made when there is none.
    """
    with _told():
        url = _url(config_path, database_url, state_dir)
        say(_done(url, migrate.up(url, revision)))


@migrate_command.command("down", context_settings={"ignore_unknown_options": True})
@click.argument("revision")
@click.option("--yes", is_flag=True, help="Let tables and columns go, with all that is in them.")
@_database_options
def down_command(
    *, revision: str, yes: bool, config_path: Path | None, database_url: str | None, state_dir: str | None
) -> None:
    """Migrate downwards; what would be lost takes --yes.

    REVISION is where to end: -1 for one step, `base` to remove the tables and all that is in them.

    Without --yes, what would be lost is told instead, and nothing changes.
    """
    with _told():
        url = _url(config_path, database_url, state_dir)
        say(_done(url, migrate.down(url, revision, may_lose=yes)))


@migrate_command.command("current")
@_database_options
def current_command(config_path: Path | None, database_url: str | None, state_dir: str | None) -> None:
    """Print the revision the database is at.

    It is `none` where nothing was migrated. Standard error says which database.
    """
    with _told():
        url = _url(config_path, database_url, state_dir)
        found = migrate.current(url)
        say(shown(url) if migrate.exists(url) else f"{shown(url)}: there is no such file")
    click.echo(found or "none")


@migrate_command.command("check")
@_database_options
def check_command(config_path: Path | None, database_url: str | None, state_dir: str | None) -> None:
    """Compare the schema with this version's.

    The exit status is 1 when they differ.
    """
    with _told():
        url = _url(config_path, database_url, state_dir)
        differences = migrate.check(url)
        if differences:
            stop(differences, EXIT_FAILED)
        say(f"The schema of {shown(url)} is current: revision {migrate.head()}.")


@migrate_command.command("sql")
@click.argument("revisions", default="head")
@_database_options
def sql_command(
    revisions: str, config_path: Path | None, database_url: str | None, state_dir: str | None
) -> None:
    """Print the SQL, without connecting.

    REVISIONS is where to end, from an empty database on (`head`, this version's, when it is not given), or
    FROM:TO, of which TO may be the earlier: then it is the way back. What each revision is called stands in
    the SQL, and `pinch migrate current` says which the database is at: its `none` is `base` here.

    It is for the kind of database of --database-url, else of the settings; a comment at its head says which.
    """
    with _told():
        url = _url(config_path, database_url, state_dir)
        text = migrate.sql(url, revisions)
        kind = "PostgreSQL" if sqlite_directory(url) is None else "SQLite"
    what = "nothing was run" if text else "both are the same revision, there is nothing to run"
    click.echo(f"-- For {kind}; {what}.\n{text}", nl=False)


def _url(config_path: Path | None, url: str | None, state_dir: str | None) -> str:
    options = {
        "--database-url": ("PINCH_STORE__DATABASE_URL", url),
        "--state-dir": ("PINCH_STORE__STATE_DIR", state_dir),
    }
    return database_url(settings_or_stop(config_path, options))


@contextmanager
def _told() -> Iterator[None]:
    """Ends the command with the store's own words when something is wrong with the database."""
    try:
        yield
    except (UnsupportedDatabase, WrongRevision) as error:
        stop([str(error)], EXIT_REFUSED)
    except DataWouldGo as error:
        stop([f"{error}. Say --yes to let that go."], EXIT_REFUSED)
    except StoreError as error:
        stop([str(error)], EXIT_FAILED)


def _done(url: str, done: migrate.Migrated) -> str:
    if not done.changed:
        return f"Nothing to do: {shown(url)} is at {done.after or 'no revision'}."
    return f"Migrated {shown(url)} from {done.before or 'nothing'} to {done.after or 'nothing'}."
