"""What can go wrong with the store, each with words an operator can act on."""


class StoreError(Exception):
    """Base of all errors of the store."""


class UnsupportedDatabase(StoreError):
    """The URL names a database that Pinch cannot keep its decisions in."""


class SchemaBehind(StoreError):
    """The database has an older schema than this version of Pinch needs."""

    def __init__(self, database: str, current: str | None, head: str) -> None:
        """Say what is there, what is needed, and the command that gets there."""
        found = f"is at revision {current}" if current else "has no Pinch schema yet"
        super().__init__(
            f"the database {database} {found}, and this version of Pinch needs {head}: "
            "run `pinch migrate up` (or start with `pinch serve --migrate`)"
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


class MigrationFailed(StoreError):
    """A migration could not be run: an unknown revision, or the database refused a step."""


class DatabaseUnreachable(StoreError):
    """The database could not be connected to."""


class UnknownJournalVersion(StoreError):
    """A journal file was written in a format this version does not know; it is left where it is."""
