"""A worker's journal: what it acknowledged and the database lacks. lines.py tells the format."""

import logging
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pinch_server.core.decision import Decision, Outcome
from pinch_server.store.errors import UnknownJournalVersion
from pinch_server.store.lines import Record, encode_record
from pinch_server.store.segment import CHECKPOINT, SUFFIX, UNBORN, Segment

_LOOK_SECONDS: Final = 0.01
"""How long a look at the newest file serves the lines that follow (seconds).

A look gives the interpreter's lock away, which under load costs more than the look itself. Whoever deletes or
cuts the file might as well have done so this much later.
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of one file, to be confirmed once the database has them."""

    segment: Segment
    end: int
    lines: int
    damaged: int
    decisions: tuple[Decision, ...]
    outcomes: tuple[Outcome, ...]


class Journal:
    """The files of one worker, in a directory it may share with others.

    `append` is safe from any number of threads; the other methods belong to one drain thread.
    """

    def __init__(
        self,
        directory: Path,
        *,
        max_bytes: int,
        segment_bytes: int = 8 * 1024 * 1024,
        fsync: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set up an empty journal; nothing is written before the first append.

        Args:
            directory: Where the files are; made when needed.
            max_bytes: Upper bound of this worker's files together, adopted ones included.
            segment_bytes: Size at which a new file is begun; at most a quarter of `max_bytes` is
                used, so that drained space can always be given back.
            fsync: Make each line survive a power loss before it is acknowledged.
            monotonic: A clock that only goes forward (seconds).
        """
        self._directory = directory
        self._max_bytes = max_bytes
        self._segment_bytes = min(segment_bytes, max_bytes // 4)
        self._fsync = fsync
        self._monotonic = monotonic
        self._look_at_newest_from = 0.0
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._pending = 0
        self._closed = False
        self._unknown: set[str] = set()

    @property
    def pending(self) -> int:
        """Acknowledged lines that the database does not have yet."""
        return self._pending

    def append(self, record: Record) -> bool:
        """Write the record down.

        Returns:
            True once it is in the journal; False when the bound is reached, the disk refuses or it is closed.
        """
        line = encode_record(record)
        try:
            with self._lock:
                if self._closed or self._bytes() + len(line) > self._max_bytes:
                    return False
                segment = self._writable(len(line))
                segment.append(line)
                end = segment.size
                segment.pending += 1
                self._pending += 1
            if self._fsync:
                segment.sync(end)
        except OSError:
            return False
        return True

    def adopt(self) -> int:
        """Take over the files of workers that are gone, and return how many lines they still hold."""
        adopted = 0
        own = {segment.path for segment in tuple(self._segments)}
        try:
            paths = sorted(self._directory.iterdir(), reverse=True)
        except FileNotFoundError:
            return adopted
        except OSError as error:
            _log.warning("journals in %s cannot be looked through: %s", self._directory, error)
            return adopted
        for path in paths:
            if path in own or path.name in self._unknown:
                continue
            try:
                adopted += self._look_at(path)
            except OSError as error:
                # One file that is out of order must not keep the others waiting.
                self._unknown.add(path.name)
                _log.error("%s cannot be adopted before the next start: %s", path, error)
        return adopted

    def _look_at(self, path: Path) -> int:
        """Take over or tidy up one file, and return how many lines it still holds."""
        if path.suffix in (SUFFIX, UNBORN) and not stat.S_ISREG(path.lstat().st_mode):
            self._unknown.add(path.name)
            _log.error("%s is no regular file; it is left as it is", path)
        elif path.suffix == SUFFIX:
            return self._adopt_file(path)
        elif path.suffix == UNBORN:
            # The maker of a file that is still nameless notices, and makes another.
            Segment.sweep(path)
        elif path.suffix == CHECKPOINT and not path.with_suffix(SUFFIX).exists():
            path.unlink(missing_ok=True)
        return 0

    def next_batch(self, limit: int) -> Batch | None:
        """Return the oldest records that are not confirmed, at most `limit` of one file, or None.

        Files that have nothing left are deleted on the way.
        """
        while True:
            with self._lock:
                if not self._segments:
                    return None
                segment = self._segments[0]
                if segment.starved and segment.drained == segment.size:
                    # A file that may be appended to is not deleted: the disk that it filled would stay full.
                    segment.sealed = True
                last = segment.sealed or len(self._segments) > 1
                if (last or segment.drained < segment.size) and not segment.is_sound():
                    self._give_up(segment)
                    last = True
                # What is appended from here on was not looked at.
                end = segment.size
            parsed = segment.read(limit, end)
            if parsed.lines:
                damaged = parsed.damaged + segment.headless
                segment.headless = False
                if damaged:
                    segment.damaged = True
                    _log.error("%d damaged lines in %s; it will be set aside", damaged, segment.path)
                return Batch(
                    segment,
                    segment.drained + parsed.size,
                    parsed.lines,
                    damaged,
                    tuple(record for record in parsed.records if isinstance(record, Decision)),
                    tuple(record for record in parsed.records if isinstance(record, Outcome)),
                )
            if not last:
                return None
            self._discard(segment)

    def confirm(self, batch: Batch) -> None:
        """Remember that the database has the batch."""
        batch.segment.remember(batch.end)
        with self._lock:
            batch.segment.drained = batch.end
            batch.segment.pending -= batch.lines
            self._pending -= batch.lines

    def refuse(self) -> None:
        """Take no further records."""
        with self._lock:
            self._closed = True

    def close(self) -> None:
        """Take no further records, delete what is drained, and leave the rest to be adopted."""
        with self._lock:
            self._closed = True
            segments, self._segments = self._segments, []
        for segment in segments:
            try:
                if segment.count_lines() == 0:
                    segment.remove()
                elif self._fsync:
                    # For the calls that have written their line and not synced it yet.
                    segment.sync(segment.size)
            except OSError as error:
                _log.warning("%s stays: %s", segment.path, error)
            segment.close()

    def _bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def _writable(self, length: int) -> Segment:
        """Return the file to append to, a new one when the last is full, sealed or not there."""
        if self._segments:
            last = self._segments[-1]
            now = self._monotonic()
            if now >= self._look_at_newest_from:
                self._look_at_newest_from = now + _LOOK_SECONDS
                if not last.is_sound():
                    # Whoever deleted or cut it cannot have meant what is still to be written.
                    self._give_up(last)
            if not last.sealed and last.size + length <= max(self._segment_bytes, length):
                return last
        # One at a time, since only the last of several would get the mode.
        self._directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory.mkdir(mode=0o700, exist_ok=True)
        segment = self._create_file()
        if self._segments:
            self._segments[-1].sealed = True
        self._segments.append(segment)
        return segment

    def _give_up(self, segment: Segment) -> None:
        """Append no more to a file that somebody else had a hand in; it is still read, to its end."""
        segment.sealed = True
        if segment.take_in_what_was_added():
            lines = segment.count_lines()
            self._pending += lines - segment.pending
            segment.pending = lines

    def _create_file(self) -> Segment:
        """Make a new file; another worker may tidy it away before it is locked, hence the attempts."""
        for last in (False, False, True):
            # Names sort by age, whatever the workers that share the directory.
            name = f"{time.time_ns() // 1000:016d}-{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
            try:
                segment = Segment.create(self._directory / name)
            except (BlockingIOError, FileNotFoundError):
                if last:
                    raise
                continue
            if self._fsync:
                _sync_directory(self._directory)
            break
        return segment

    def _adopt_file(self, path: Path) -> int:
        try:
            segment = Segment.adopt(path)
        except UnknownJournalVersion as error:
            self._unknown.add(path.name)
            _log.error("%s", error)
            return 0
        if segment is None:
            return 0
        lines = segment.count_lines()
        segment.pending = lines
        with self._lock:
            self._segments.insert(0, segment)
            self._pending += lines
        _log.info("adopted %s with %d lines", path, lines)
        return lines

    def _discard(self, segment: Segment) -> None:
        with self._lock:
            self._segments.remove(segment)
            self._pending -= segment.pending
        if segment.pending:
            segment.damaged = True
            _log.error(
                "%d lines that were in %s are gone: it was cut from outside", segment.pending, segment.path
            )
        try:
            segment.remove()
        except OSError as error:
            _log.warning("%s stays: %s", segment.path, error)
            segment.close()


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
