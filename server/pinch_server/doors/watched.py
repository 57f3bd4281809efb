"""Files that are read anew when they change, and that keep their last good content when they break."""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Generic, Literal, TypeVar

_LOG: Final = logging.getLogger(__name__)
_READABLE_BY_STRANGERS: Final = 0o027

Kind = Literal["certificate", "tokens"]
"""What the files hold, as metrics and log lines call it."""
Result = Literal["taken", "kept"]
"""What became of a change: it is in force, or what was before it still is."""
Content = TypeVar("Content")


class DoorFileError(Exception):
    """A file of certificates, keys or tokens cannot be used; the text says why and never quotes it."""


class Watched(Generic[Content]):
    """What some files say, now and after each change.

    Args:
        kind: What they hold.
        paths: The files.
        read: Reads them; may raise DoorFileError or OSError.
        clock: The monotonic clock (seconds).
        every: The least time between two looks at the files (seconds).

    Raises:
        DoorFileError: They cannot be used at the start.
    """

    def __init__(
        self,
        kind: Kind,
        paths: Sequence[Path],
        read: Callable[[], Content],
        clock: Callable[[], float],
        *,
        every: float = 0.0,
    ) -> None:
        self._kind: Final = kind
        self._paths = tuple(paths)
        self._read = read
        self._clock = clock
        self._every = every
        self._lock = threading.Lock()
        self._seen = self._looks()
        self._looked = clock()
        self._told: Callable[[Kind, Result], None] = _nobody
        self._content = _usable(read)

    def tell(self, told: Callable[[Kind, Result], None]) -> None:
        """Sets who is told of each change, and of what became of it."""
        self._told = told

    def current(self) -> Content:
        """The newest content that could be used; never raises, and never waits for another thread."""
        if self._every and self._clock() - self._looked < self._every:
            return self._content
        if not self._lock.acquire(blocking=False):
            return self._content
        try:
            self._look()
        finally:
            self._lock.release()
        return self._content

    def _look(self) -> None:
        self._looked = self._clock()
        # Taken before the files are read: what changes meanwhile is found at the next look.
        looks = self._looks()
        if looks == self._seen:
            return
        self._seen = looks
        try:
            self._content = _usable(self._read)
        except DoorFileError as error:
            _LOG.error("the %s stay as they were, the new ones cannot be used: %s", self._plural, error)
            self._told(self._kind, "kept")
            return
        _LOG.warning("the %s were read anew", self._plural)
        self._told(self._kind, "taken")

    @property
    def _plural(self) -> str:
        return "certificates" if self._kind == "certificate" else "tokens"

    def _looks(self) -> tuple[tuple[int, ...] | None, ...]:
        return tuple(map(_looks_of, self._paths))


def read_secret(path: Path) -> bytes:
    """The bytes of a file that strangers can neither read nor change.

    Raises:
        DoorFileError: They can: by its mode, its group may read it and nobody else do anything.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if mode & _READABLE_BY_STRANGERS:
            raise DoorFileError(
                f"{path} has mode {mode & 0o777:04o}: others may read or change it; run chmod 640 {path}"
            )
        return file.read()


def _usable(read: Callable[[], Content]) -> Content:
    try:
        return read()
    except OSError as error:
        raise DoorFileError(
            f"{error.filename} cannot be read: {error.strerror or 'no reason told'}"
        ) from error


def _looks_of(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _nobody(_kind: Kind, _result: Result) -> None:
    return
