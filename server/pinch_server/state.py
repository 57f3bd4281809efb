"""What is in the state directory: the SQLite file, the journal, and the key session ids are hashed with."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pinch_server.settings import Settings

_DATABASE: Final = "pinch.sqlite3"
_JOURNAL: Final = "journal"
_KEY: Final = "session.key"
_KEY_BYTES: Final = 32


def database_url(settings: Settings) -> str:
    """The URL of the database: the setting's, else that of an SQLite file in the state directory."""
    # A `?` would begin the URL's query.
    file = str(settings.store.state_dir.absolute() / _DATABASE).replace("%", "%25").replace("?", "%3F")
    return settings.store.database_url or f"sqlite:///{file}"


def journal_directory(settings: Settings) -> Path:
    """Where the journals of all workers on this machine are."""
    return settings.store.state_dir / _JOURNAL


def prepare(settings: Settings) -> None:
    """Makes the state directory, readable for its owner alone, when there is none.

    Raises:
        OSError: It cannot be made.
    """
    settings.store.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)


def session_key(settings: Settings) -> bytes:
    """The key that session ids are hashed with: the setting's, else the state directory's, made when needed.

    Workers that start at the same time all get the same one.

    Raises:
        OSError: It can be neither read nor made.
    """
    if settings.session_hash_key:
        return settings.session_hash_key.encode()
    file = settings.store.state_dir / _KEY
    try:
        found = file.read_bytes()
    except FileNotFoundError:
        found = b""
    if found:
        return found
    # A crash can leave a file without its contents, and whoever knows that a key is empty knows the hashes.
    _make_key(file, replace=file.exists())
    return file.read_bytes()


def _make_key(file: Path, *, replace: bool) -> None:
    whole = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(secrets.token_bytes(_KEY_BYTES))
            out.flush()
            os.fsync(out.fileno())
        if replace:
            with _locked(file.parent):
                if file.stat().st_size == 0:
                    whole.replace(file)
            return
        # A link appears whole or not at all, and leaves a key that another worker made where it is.
        os.link(whole, file)
    except FileExistsError:
        return
    finally:
        whole.unlink(missing_ok=True)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Holds the lock on a directory, so that of several workers only one replaces what is empty."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
