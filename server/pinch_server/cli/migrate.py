"""`pinch migrate`: the database's schema."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import click

from pinch_server.cli.console import EXIT_FAILED, say, stop
from pinch_server.cli.help import lines
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.state import database_url
from pinch_server.store import migrate
from pinch_server.store.errors import StoreError, UnsupportedDatabase

_Function = TypeVar("_Function", bound=Callable[..., object])


def _database_options(function: _Function) -> _Function:
    state_dir = click.option("--state-dir", metavar="DIR", help="Directory of the SQLite file.")
    url = click.option("--database-url", metavar="URL", help="Database; else that of the settings.")
    return config_option(state_dir(url(function)))


_EPILOG: Final = lines(
    "Examples",
    "pinch migrate up --database-url postgresql://pinch@db/pinch",
    "pinch migrate current        the revision the database is at",
    "pinch migrate check          exit status 1 when the schema is not what this version needs",
    "pinch migrate sql            the SQL, for whoever must read it before it runs",
    "pinch migrate down -1        one step back",
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
    """Migrate upwards to REVISION, by default this version's."""
    with _told():
        done = migrate.up(_url(config_path, database_url, state_dir), revision)
    say(_done(done))


@migrate_command.command("down", context_settings={"ignore_unknown_options": True})
@click.argument("revision")
@_database_options
def down_command(
    revision: str, config_path: Path | None, database_url: str | None, state_dir: str | None
) -> None:
    """Migrate downwards to REVISION: -1 for one step, `base` to remove the tables and all that is in them."""
    with _told():
        done = migrate.down(_url(config_path, database_url, state_dir), revision)
    say(_done(done))


@migrate_command.command("current")
@_database_options
def current_command(config_path: Path | None, database_url: str | None, state_dir: str | None) -> None:
    """Print the revision the database is at, or `none`."""
    with _told():
        found = migrate.current(_url(config_path, database_url, state_dir))
    click.echo(found or "none")


@migrate_command.command("check")
@_database_options
def check_command(config_path: Path | None, database_url: str | None, state_dir: str | None) -> None:
    """Compare the database with what this version needs; exit status 1 when they differ."""
    with _told():
        differences = migrate.check(_url(config_path, database_url, state_dir))
    if differences:
        stop(differences, EXIT_FAILED)
    say(f"The schema is current: revision {migrate.head()}.")


@migrate_command.command("sql")
@click.argument("revisions", default="head")
@_database_options
def sql_command(
    revisions: str, config_path: Path | None, database_url: str | None, state_dir: str | None
) -> None:
    """Print the SQL that leads to REVISIONS, without connecting: a revision, or FROM:TO."""
    with _told():
        text = migrate.sql(_url(config_path, database_url, state_dir), revisions)
    click.echo(text, nl=False)


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
    except UnsupportedDatabase as error:
        raise click.UsageError(str(error)) from None
    except StoreError as error:
        stop([str(error)], EXIT_FAILED)


def _done(done: migrate.Migrated) -> str:
    if not done.changed:
        return f"Nothing to do: the database is at {done.after or 'no revision'}."
    return f"Migrated from {done.before or 'nothing'} to {done.after or 'nothing'}."
