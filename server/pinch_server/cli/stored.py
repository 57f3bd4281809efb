"""Where the commands that show stored decisions read them: in the database, or through a service."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pinch_server.cli.address import server_address
from pinch_server.cli.console import EXIT_FAILED, stop
from pinch_server.cli.reaching import asked_tls, read_token, timeout_option, tls_options, token_option
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.ports import Insight, InsightUnavailableError
from pinch_server.rpc.watching import NotAnsweredError, Watched, watched
from pinch_server.settings import Settings
from pinch_server.state import database_url
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from pinch_server.store.errors import StoreError, UnsupportedDatabase
from pinch_server.store.insight import DatabaseInsight

if TYPE_CHECKING:
    from pinch import Tls

_Function = TypeVar("_Function", bound=Callable[..., object])

_OPTIONS: Final = (
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option(
        "--server",
        metavar="ADDRESS",
        callback=server_address,
        help="Ask the service at HOST:PORT or unix:PATH instead.",
    ),
    click.option("--database-url", metavar="URL", help="Database; else that of the settings."),
    click.option("--state-dir", metavar="DIR", help="Directory of the SQLite file."),
    timeout_option(10.0),
    config_option,
)


def stored_options(function: _Function) -> _Function:
    """Gives a command the options that say where to read and how to print."""
    function = tls_options(token_option(function))
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def settings_of(config_path: Path | None, url: str | None, state_dir: str | None) -> Settings:
    """The settings with these options over them.

    Raises:
        SystemExit: They cannot be used; every problem is named.
    """
    options = {
        "--database-url": ("PINCH_STORE__DATABASE_URL", url),
        "--state-dir": ("PINCH_STORE__STATE_DIR", state_dir),
    }
    return settings_or_stop(config_path, options)


@contextmanager
def database(settings: Settings) -> Iterator[Insight]:
    """Opens the database for reading; it is neither made nor migrated.

    Raises:
        StoreError: It is not there, or of another version.
    """
    url = database_url(settings)
    migrate.require_current(url)
    engine = open_engine(url)
    try:
        yield DatabaseInsight(engine, grace_us=settings.outcome_grace_seconds * 1_000_000)
    finally:
        engine.dispose()


@contextmanager
def reached(
    server: str, timeout: float, token_file: Path | None, tls: Mapping[str, Any], own: "Tls | None" = None
) -> Iterator[Watched]:
    """Opens a connection to a service.

    Args:
        server: `HOST:PORT` or `unix:PATH`.
        timeout: Time the service has for each answer (seconds).
        token_file: The file that holds the token to send; None: none is sent.
        tls: What the options of `tls_options` were given.
        own: How to speak TLS where those ask for none; None: in plain text.

    Raises:
        click.UsageError: An option cannot be used.
    """
    asked, token = asked_tls(**tls), read_token(token_file)
    try:
        with watched(server, timeout, asked or own, token) as service:
            yield service
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def own_only(server: str | None, token_file: Path | None, tls: Mapping[str, Any]) -> None:
    """Makes sure that a database is not asked with what is for a service.

    Raises:
        click.UsageError: It is.
    """
    if server is None and (token_file is not None or any(tls.values())):
        raise click.UsageError("--tls… and --token-file are for --server")


@contextmanager
def told() -> Iterator[None]:
    """Ends the command in plain words when what it asks for cannot be read."""
    try:
        yield
    except UnsupportedDatabase as error:
        raise click.UsageError(str(error)) from None
    except (StoreError, InsightUnavailableError, NotAnsweredError) as error:
        stop([str(error)], EXIT_FAILED)
