"""What a service needs once, before anything takes calls, and what can be wrong with it."""

import logging
from pathlib import Path
from typing import Final

from pinch_server import state
from pinch_server.settings import Settings
from pinch_server.store import migrate
from pinch_server.store.engine import sqlite_directory
from pinch_server.store.errors import DatabaseUnreachable

_LOG: Final = logging.getLogger(__name__)


class StartError(Exception):
    """The service cannot start; the text says why and what would mend it."""


def prepare_state(settings: Settings) -> Path:
    """Makes the state directory and the key in it, where they are not there.

    Returns:
        The directory.

    Raises:
        StartError: It cannot be used.
    """
    try:
        state.prepare(settings)
        state.session_key(settings)
    except OSError as error:
        raise StartError(f"the state directory cannot be used: {error}") from error
    return settings.store.state_dir


def kept_knobs(settings: Settings) -> dict[str, bool]:
    """The runtime knobs that were turned for good before this start.

    Raises:
        StartError: Their file cannot be used.
    """
    try:
        return state.kept_knobs(settings)
    except (OSError, ValueError) as error:
        raise StartError(str(error)) from error


def prepare_schema(settings: Settings) -> None:
    """Brings the schema up to date, or makes sure that it is; of a server out of reach nothing is known.

    Raises:
        StoreError: The database is there but not fit.
    """
    url = state.database_url(settings)
    try:
        migrate.ensure_current(url, settings.store.migrate)
    except DatabaseUnreachable as error:
        if sqlite_directory(url) is not None:
            # A file that cannot be opened here and now is not an outage: waiting does not mend it.
            raise
        _LOG.warning("decisions wait in the journal, and the schema is not checked: %s", error)
