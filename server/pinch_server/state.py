"""What is in the state directory: the SQLite file, the journal, the key of the session hash, turned knobs."""

import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from pinch_server.settings import RUNTIME_KEYS, Settings

_DATABASE: Final = "pinch.sqlite3"
_JOURNAL: Final = "journal"
_KEY: Final = "session.key"
_KNOBS: Final = "runtime.json"
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


def kept_knobs(settings: Settings) -> dict[str, bool]:
    """The runtime knobs that were turned for good.

    Raises:
        OSError: Their file cannot be read.
        ValueError: It does not hold what `keep_knobs` writes; the text says what to do.
    """
    file = settings.store.state_dir / _KNOBS
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        knobs = msgspec.json.decode(text, type=dict[str, bool])
    except msgspec.DecodeError as error:
        raise ValueError(f"{file} holds no runtime knobs ({error}); mend or delete it") from None
    unknown = sorted(knobs.keys() - set(RUNTIME_KEYS))
    if unknown:
        raise ValueError(f"{file} holds knobs that there are none of: {', '.join(unknown)}; take them out")
    return knobs


def keep_knobs(settings: Settings, knobs: Mapping[str, bool]) -> None:
    """Keeps runtime knobs for the next start, beside those that are kept already; whole or not at all.

    Raises:
        OSError: They cannot be written.
        ValueError: What is kept already cannot be understood.
    """
    file = settings.store.state_dir / _KNOBS
    whole = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    text = msgspec.json.format(msgspec.json.encode({**kept_knobs(settings), **knobs})) + b"\n"
    descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        whole.replace(file)
    finally:
        whole.unlink(missing_ok=True)


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
