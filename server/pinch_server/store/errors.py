"""What can go wrong with the store, each with words an operator can act on."""

from collections.abc import Mapping

from pinch_server.core.nouns import counted


class StoreError(Exception):
    """Base of all errors of the store."""


class UnsupportedDatabase(StoreError):
    """The URL names a database that Pinch cannot keep its decisions in."""


class SchemaBehind(StoreError):
    """The database has an older schema than this version of Pinch needs."""

    def __init__(self, database: str, current: str | None, head: str) -> None:
        """Say what is there, what is needed, and the command that gets there."""
        found = f"is at revision {current}" if current else "has no Pinch schema yet"
        by_itself = database.startswith("sqlite:")
        or_else = "`pinch serve` does it by itself" if by_itself else "or start with `pinch serve --migrate`"
        super().__init__(
            f"the database {database} {found}, and this version of Pinch needs {head}: "
            f"run `pinch migrate up` ({or_else})"
        )
        self.current = current
        self.head = head


class SchemaAhead(StoreError):
    """The database was migrated by a newer version of Pinch."""

    def __init__(self, database: str, current: str, head: str) -> None:
        """Say what is there and what this version knows."""
        super().__init__(
            f"the database {database} is at revision {current}, which this version of Pinch does not know "
            f"(its newest is {head}): run the version that migrated it, or go back with that version's "
            f"`pinch migrate down {head}`"
        )
        self.current = current
        self.head = head


class WrongRevision(StoreError):
    """A revision was asked for that does not exist, or that no such way leads to; nothing has changed."""

    def __init__(self, word: str, reason: str) -> None:
        """Name what was asked for, and say what would be right."""
        super().__init__(f"revision {word!r}: {reason}")


class MigrationFailed(StoreError):
    """A migration could not be run: the database refused a step."""


class DataWouldGo(StoreError):
    """Going down would remove tables or columns, which nobody allowed; nothing has changed."""

    def __init__(self, database: str, revision: str, lost: Mapping[str, int | None]) -> None:
        """Name what would go, each with its rows.

        Args:
            database: The database's URL, fit to be shown.
            revision: Where the way down would end.
            lost: The rows of each table that would go; None for a column, named `table.column`.
        """
        told = ", ".join(
            f"the column {name}" if rows is None else f"{name} ({counted(rows, 'row')})"
            for name, rows in lost.items()
        )
        super().__init__(f"down to {revision}, {database} would lose {told}; nothing has changed")
        self.lost = lost


class DatabaseUnreachable(StoreError):
    """The database could not be connected to."""


class DatabaseRefused(StoreError):
    """The database server is there and does not let this user into this database: a fault of the settings."""


class DatabaseReplaced(StoreError):
    """A SQLite file was deleted or replaced while being written to; what was written has to be again."""

    def __init__(self) -> None:
        """Say what happened."""
        super().__init__("the database file was deleted or replaced while it was being written to")


class UnknownJournalVersion(StoreError):
    """A journal file was written in a format this version does not know; it is left where it is."""
