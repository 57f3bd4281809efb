"""A SQLite file that is deleted or replaced under a running service."""

import logging
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from pinch_server.store import migrate
from pinch_server.store.errors import DatabaseReplaced

_log: Final = logging.getLogger(__name__)

_COMPANIONS: Final = ("-wal", "-shm")

_Identity = tuple[int, int]


class DatabaseFile:
    """Knows whether the open file is still the one that has the name; for PostgreSQL, always.

    A process can go on writing to a file that has lost its name, and all of that would be gone with its end.
    """

    def __init__(self, engine: Engine) -> None:
        """Watch the file behind `engine`, from now on."""
        self._engine = engine
        self._path = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None
        self._known = _identity(self._path)
        self._companions = self._companions_now()
        self._is_told = False

    def reopen_if_replaced(self) -> None:
        """Open the file that has the name now, made and migrated when needed, where it is another one.

        What only the old file held cannot be had from here: it is with whoever moved it, or, when it was
        deleted, gone with the last process that has it open.

        Raises:
            StoreError: The new file is no database, or cannot be made.
            OSError: What the old file left beside the new one cannot be set aside.
        """
        now = _identity(self._path)
        if self._known in (None, now):
            self._known = now
            self._companions = self._companions_now()
            return
        if not self._is_told:
            self._is_told = True
            _log.error(
                "the database file %s was deleted or replaced while in use: what only the old file held is "
                "no longer there; decisions go to the file that has its name now",
                self._path,
            )
        # Before the new file is opened: connections to the old one share the names of its companions.
        self._engine.dispose()
        self._set_companions_aside()
        migrate.up(self._engine.url.render_as_string(hide_password=False))
        self._known = _identity(self._path)
        self._is_told = False

    def require_same(self) -> None:
        """Make sure, after writing, that what was written can be found.

        Raises:
            DatabaseReplaced: It went into a file that has lost its name.
        """
        if self._known is not None and _identity(self._path) != self._known:
            raise DatabaseReplaced

    def _set_companions_aside(self) -> None:
        """Rename the old file's log and index: SQLite would play them into the new file."""
        for path, identity in self._companions_now().items():
            if self._companions.get(path) == identity:
                path.replace(path.with_name(f"{path.name}.{identity[1]}.old"))

    def _companions_now(self) -> dict[Path, _Identity]:
        if self._path is None:
            return {}
        paths = [self._path.with_name(self._path.name + ending) for ending in _COMPANIONS]
        return {path: identity for path in paths if (identity := _identity(path)) is not None}


def _identity(path: Path | None) -> _Identity | None:
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
