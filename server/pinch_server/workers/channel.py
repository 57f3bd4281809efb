"""The line between a parent process and one worker."""

import socket
import threading

import msgspec

from pinch_server.workers.messages import Message

_DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


class Channel:
    """One end of it. Any thread may send; one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._reader = end.makefile("rb")
        self._lock = threading.Lock()

    def send(self, message: Message) -> bool:
        """Says something; False when nobody is there any more."""
        line = msgspec.json.encode(message) + b"\n"
        try:
            with self._lock:
                self._end.sendall(line)
        except OSError:
            return False
        return True

    def receive(self, seconds: float | None = None) -> Message | None:
        """Waits for what is said next.

        Args:
            seconds: How long; None: for ever.

        Returns:
            None when the other process is gone.

        Raises:
            TimeoutError: Nothing was said in time.
        """
        self._end.settimeout(seconds)
        try:
            line = self._reader.readline()
        except TimeoutError:
            raise
        except OSError:
            return None
        finally:
            # Sending must not give up half-way because of how long somebody listens.
            self._end.settimeout(None)
        return _DECODER.decode(line) if line.endswith(b"\n") else None

    def close(self) -> None:
        """Ends it."""
        self._reader.close()
        self._end.close()
