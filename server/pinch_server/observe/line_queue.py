"""Lines on their way to a stream that may be full, gone or stuck: whoever logs neither waits nor fails."""

import threading
from collections import deque
from collections.abc import Callable
from select import select
from typing import BinaryIO, Final, Protocol, cast

MOST_BYTES: Final = 4 * 1024 * 1024
"""What may wait to be written (bytes); a line that finds no room is dropped and counted."""


_GATHER_SECONDS: Final = 0.02
"""How long a line may wait for further ones to be written with it (seconds)."""


class Stream(Protocol):
    """Where the lines end up: an unbuffered file, or bytes in memory."""

    def write(self, data: memoryview, /) -> int | None:
        """Writes some bytes and tells how many; None when the stream takes none now."""
        ...


class LineQueue:
    """Writes lines in their order from a thread of its own.

    Args:
        stream: Where the lines go; None drops them all.
        most_bytes: What may wait to be written (bytes).
    """

    def __init__(self, stream: Stream | None, most_bytes: int = MOST_BYTES) -> None:
        self._stream = stream
        self._most_bytes = most_bytes
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._is_torn = False
        self._is_waiting = False
        self._is_hurried = False
        self._is_closed = False
        self._dropped: Callable[[], None] | None = None
        # Reentrant, since a finaliser may log in the middle of another line.
        self._changed = threading.Condition(threading.RLock())
        threading.Thread(target=self._run, name="pinch-log", daemon=True).start()

    def count_dropped(self, by: Callable[[], None]) -> None:
        """Sets what is called for each line that is lost."""
        self._dropped = by

    def put(self, line: bytes) -> None:
        """Takes a line, its line end included; never waits for the stream and never raises."""
        with self._changed:
            has_room = self._bytes + len(line) <= self._most_bytes and not self._is_closed
            if has_room:
                self._lines.append(line)
                self._bytes += len(line)
                if self._is_waiting:
                    self._changed.notify_all()
        if not has_room:
            self.drop()

    def drop(self) -> None:
        """Counts a line that is lost."""
        if self._dropped is not None:
            self._dropped()

    def flush(self, seconds: float) -> bool:
        """Waits until all lines are written; False when the time (seconds) is over first."""
        with self._changed:
            self._is_hurried = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._lines, seconds)

    def close(self) -> None:
        """Takes no more lines; what waits is still written, as long as the process lives."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._lines:
                    if self._is_closed:
                        return
                    self._await_lines()
                line = self._lines[0]
            try:
                self._write(line)
            except Exception:  # noqa: BLE001 there is nowhere to tell it
                self.drop()
            with self._changed:
                self._bytes -= len(self._lines.popleft())
                self._changed.notify_all()

    def _await_lines(self) -> None:
        """Waits for a line, and then for those that follow it: waking up for each would slow the calls."""
        self._is_hurried = False
        self._is_waiting = True
        self._changed.wait_for(lambda: self._lines or self._is_closed or self._is_hurried)
        self._is_waiting = False
        self._changed.wait_for(lambda: self._is_closed or self._is_hurried, _GATHER_SECONDS)

    def _write(self, line: bytes) -> None:
        if self._stream is None:
            raise OSError("there is no stream")
        # A line that a full disk cut in two must not run into the next one.
        rest = memoryview(b"\n" + line if self._is_torn else line)
        length = len(rest)
        try:
            while rest:
                written = self._stream.write(rest)
                if written is None:
                    select([], [cast("BinaryIO", self._stream)], [])  # only files say None
                    continue
                rest = rest[written:]
        finally:
            self._is_torn = bool(rest) and (self._is_torn or len(rest) < length)
