"""New SQLite databases with the current schema: migrated once in a process, and copied from then on."""

import tempfile
from functools import cache
from pathlib import Path

from pinch_server.store import migrate


def migrated(file: Path) -> str:
    """Makes a database in a file that is not there yet; its URL."""
    file.write_bytes(_empty())
    file.chmod(0o600)
    return f"sqlite:///{file}"


@cache
def _empty() -> bytes:
    """The file of a database right after its migration."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "pinch.sqlite3"
        migrate.up(f"sqlite:///{file}")
        # Its last connection has brought the write-ahead log home.
        assert list(Path(directory).iterdir()) == [file]
        return file.read_bytes()
