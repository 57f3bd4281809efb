"""One file of a journal: owned by the process that holds its lock, and deleted once drained."""

import fcntl
import os
import re
import threading
from pathlib import Path

from pinch_server.store.errors import UnknownJournalVersion
from pinch_server.store.lines import (
    HEADER,
    HEADER_NAME,
    Parsed,
    encode_checkpoint,
    parse_checkpoint,
    parse_lines,
)

SUFFIX = ".journal"
UNBORN = ".unborn"
CHECKPOINT = ".checkpoint"
_CHUNK = 512 * 1024
_VERSION = re.compile(re.escape(HEADER_NAME) + rb"[0-9]{1,9}\n")


class Segment:
    """A locked journal file.

    The lock (flock) belongs to the open file and ends with the process, however that ends: a file whose lock
    can be had has no living owner. `append`, `size` and `pending` (lines that the database
    does not have yet) are guarded by the journal; reading and checkpoints
    belong to the one drain thread.
    """

    def __init__(self, path: Path, descriptor: int, size: int, drained: int) -> None:
        """Take over an open, locked file; use `create` and `adopt`."""
        self.path = path
        self.size = size
        self.drained = drained
        self.damaged = False
        self.headless = False
        self.sealed = False
        self.starved = False
        self.pending = 0
        self._descriptor = descriptor
        self._checkpoint = path.with_suffix(CHECKPOINT)
        self._synced = 0
        self._sync_lock = threading.Lock()
        self._closed = False

    @classmethod
    def create(cls, path: Path) -> "Segment":
        """Make a new file with its header, and lock it.

        It gets its name only once it is locked, so that nobody takes it for the file of a dead worker.

        Raises:
            OSError: It cannot be made, locked or written.
        """
        unborn = path.with_suffix(UNBORN)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(unborn, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            segment = cls(path, descriptor, 0, len(HEADER))
            segment.append(HEADER)
            unborn.rename(path)
        except OSError:
            unborn.unlink(missing_ok=True)
            os.close(descriptor)
            raise
        return segment

    @classmethod
    def adopt(cls, path: Path) -> "Segment | None":
        """Lock a file whose owner is gone; None when it has an owner, was just deleted, or never held a line.

        A file whose first line is damaged is read on without it; one that is no journal at all is set aside.

        Raises:
            UnknownJournalVersion: Another version of Pinch wrote it.
            OSError: It cannot be opened or read.
        """
        try:
            # A pipe of that name must not be waited for.
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        segment = None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            header = os.pread(descriptor, len(HEADER) + 8, 0)
            status = os.fstat(descriptor)
            if status.st_nlink == 0:
                return None
            if header.startswith(HEADER):
                segment = cls(path, descriptor, status.st_size, len(HEADER))
                segment.sealed = True
                segment._restore_checkpoint()
            elif HEADER.startswith(header):
                path.unlink(missing_ok=True)
            elif _VERSION.match(header):
                raise UnknownJournalVersion(f"{path} is of another version of Pinch; it is left as it is")
            elif (start := _first_record(descriptor, status.st_size)) is not None:
                segment = cls(path, descriptor, status.st_size, start)
                segment.sealed = segment.damaged = segment.headless = True
                segment._restore_checkpoint()
            else:
                path.replace(_aside(path))
        except BlockingIOError:
            return None
        finally:
            if segment is None:
                os.close(descriptor)
        return segment

    @staticmethod
    def sweep(path: Path) -> None:
        """Delete a file that its maker did not live to name.

        Raises:
            OSError: It cannot be deleted.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            return
        finally:
            os.close(descriptor)

    def append(self, line: bytes) -> None:
        """Write one line by one write().

        Raises:
            OSError: It could not be written whole; what was written of it is taken back, or else the file
                is sealed, which makes it a torn last line.
        """
        try:
            written = os.write(self._descriptor, line)
        except OSError:
            self._take_back(0)
            raise
        if written != len(line):
            self._take_back(written)
            raise OSError(f"only {written} of {len(line)} bytes could be written to {self.path}")
        self.size += len(line)
        self.starved = False

    def is_sound(self) -> bool:
        """Return whether the file can still be found and is as long as it was written.

        One that was deleted would end with this process; in one that somebody else cut or added to, lines
        would not be where they are looked for.
        """
        status = os.fstat(self._descriptor)
        return status.st_nlink > 0 and status.st_size == self.size

    def take_in_what_was_added(self) -> bool:
        """Count what somebody else appended as part of the file, and tell whether there is any.

        Lines of ours may lie behind it, and would not be read to the last.
        """
        size = os.fstat(self._descriptor).st_size
        is_longer = size > self.size
        self.size = max(size, self.size)
        return is_longer

    def sync(self, end: int) -> None:
        """Return when the first `end` bytes survive a power loss; one fdatasync serves all who wait.

        Raises:
            OSError: The disk refused, and nothing more is appended to this file; or it was closed before.
        """
        with self._sync_lock:
            if self._synced >= end:
                return
            if self._closed:
                raise OSError(f"{self.path} was closed before it was synced")
            size = self.size
            try:
                os.fdatasync(self._descriptor)
            except OSError:
                # The kernel may have thrown the unwritten pages away: a later success would prove nothing.
                self.sealed = True
                raise
            self._synced = size

    def read(self, limit: int, end: int) -> Parsed:
        """Read up to `limit` whole lines before `end` that the database does not have yet."""
        length = _CHUNK
        while True:
            available = min(length, end - self.drained)
            parsed = parse_lines(os.pread(self._descriptor, available, self.drained), limit)
            if parsed.lines or available < length:
                return parsed
            length *= 2

    def count_lines(self) -> int:
        """Return the number of whole lines that the database does not have yet."""
        count, offset = 0, self.drained
        while chunk := os.pread(self._descriptor, _CHUNK, offset):
            count += chunk.count(b"\n")
            offset += len(chunk)
        return count

    def remember(self, offset: int) -> None:
        """Write into the checkpoint that the database has everything before `offset`."""
        try:
            descriptor = os.open(self._checkpoint, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(descriptor, encode_checkpoint(offset), 0)
            finally:
                os.close(descriptor)
        except OSError:
            # A full disk only means that these lines are offered again after a crash, and ignored.
            return

    def remove(self) -> None:
        """Delete the drained file, or set it aside when it held damaged lines, and give up the lock.

        Raises:
            OSError: It cannot be deleted, as on a read-only disk.
        """
        with self._sync_lock:
            # The database has it all: nobody need wait for this disk.
            self._synced = self.size
        if self.damaged:
            self.path.replace(_aside(self.path))
        else:
            self.path.unlink(missing_ok=True)
        self._checkpoint.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Give up the lock; whoever comes next adopts the file."""
        with self._sync_lock:
            if not self._closed:
                self._closed = True
                os.close(self._descriptor)

    def _take_back(self, written: int) -> None:
        self.starved = True
        try:
            if os.fstat(self._descriptor).st_size == self.size + written:
                os.ftruncate(self._descriptor, self.size)
            else:
                # Behind what somebody else appended, lines of ours stand beyond that size.
                self.sealed = True
        except OSError:
            self.sealed = True

    def _restore_checkpoint(self) -> None:
        try:
            offset = parse_checkpoint(self._checkpoint.read_bytes())
        except OSError:
            return
        if offset is not None and self.drained <= offset <= self.size:
            self.drained = offset


def _aside(path: Path) -> Path:
    return path.with_name(path.name + ".damaged")


def _first_record(descriptor: int, size: int) -> int | None:
    """Return where the records of a file with a damaged header begin, None when it holds none."""
    data = os.pread(descriptor, size, 0)
    starts = (len(HEADER), data.find(b"\n") + 1)
    for most in (1, size):
        for start in starts:
            if parse_lines(data[start:], most).records:
                return start
    return None
