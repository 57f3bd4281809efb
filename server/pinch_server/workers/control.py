"""A worker's ear: hears what the parent process says, and that it is gone."""

import os
import threading
from collections.abc import Callable

from pinch_server.workers.channel import Channel
from pinch_server.workers.messages import Message, Stop


class Control:
    """Owns a thread, started by `start`; it ends with the process.

    Args:
        channel: The line to the parent process.
        stop: Asks this process to finish its calls and end.
        heard: Given whatever else the parent says.
    """

    def __init__(
        self, channel: Channel, *, stop: Callable[[], None], heard: Callable[[Message], None]
    ) -> None:
        self._channel = channel
        self._stop = stop
        self._heard = heard
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="pinch-control", daemon=True)

    def start(self) -> None:
        """Starts to listen."""
        self._thread.start()

    def stopping(self) -> None:
        """Says that this process is at its end already."""
        self._is_stopping = True

    def _run(self) -> None:
        while (message := self._channel.receive()) is not None:
            if isinstance(message, Stop):
                self._is_stopping = True
                self._stop()
            else:
                self._heard(message)
        if self._is_stopping:
            # Whoever asked did not wait. What was acknowledged is in the journal.
            os._exit(1)
        # Nobody replaces this worker, counts for it or tells it to stop any more.
        self._is_stopping = True
        self._stop()
