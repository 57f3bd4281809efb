"""Files of the command line: read whole within a bound, and written whole or not at all."""

import secrets
import stat
import sys
from pathlib import Path
from typing import Final

STANDARD: Final = "-"
"""Stands for standard input."""


class UnusableFileError(Exception):
    """A file can be neither read nor written; the text names it and says why."""


class OversizeError(Exception):
    """There is more to read than may be sent."""


def read(name: str, most: int) -> bytes:
    """The contents of a file, or of standard input.

    Args:
        name: Its path, or `-`.
        most: Bytes it may have.

    Raises:
        UnusableFileError: It cannot be read.
        OversizeError: It is longer.
    """
    try:
        if name == STANDARD:
            contents = sys.stdin.buffer.read(most + 1)
        else:
            with Path(name).open("rb") as file:
                contents = file.read(most + 1)
    except OSError as error:
        raise UnusableFileError(f"{name}: cannot be read: {error.strerror}") from None
    if len(contents) > most:
        raise OversizeError
    return contents


def write(path: Path, contents: bytes) -> None:
    """Puts a file in place; whoever looks sees the old one or the new one, never a part.

    Raises:
        UnusableFileError: It cannot be written; what stood there stands there still.
    """
    # The file that a link names is replaced, not the link.
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():
            # A pipe or a device such as /dev/null is written to; its name must not become a file.
            target.write_bytes(contents)
        else:
            _replace(target, contents)
    except OSError as error:
        raise UnusableFileError(f"{path}: cannot be written: {error.strerror}") from None


def _replace(target: Path, contents: bytes) -> None:
    whole = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        whole.write_bytes(contents)
        if target.exists():
            whole.chmod(stat.S_IMODE(target.stat().st_mode))
        whole.replace(target)
    finally:
        whole.unlink(missing_ok=True)


def write_standard(contents: bytes) -> None:
    """Writes to standard output: these bytes and nothing else."""
    sys.stdout.buffer.write(contents)
    sys.stdout.buffer.flush()
