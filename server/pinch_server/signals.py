"""Waiting for what stops a service: a signal, or whoever in this process asks for it."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

STOPPING: Final = (signal.SIGTERM, signal.SIGINT)
"""The signals that stop a service."""


class StopRequest:
    """That the process is to stop; made by `stop_signals`."""

    def __init__(
        self, receiver: socket.socket, sender: socket.socket, numbers: tuple[signal.Signals, ...]
    ) -> None:
        self._receiver = receiver
        self._sender = sender
        self._numbers = numbers

    def wait(self) -> None:
        """Waits, in the main thread, for the first; from then on the next signal ends the process."""
        self._receiver.recv(1)
        for number in self._numbers:
            signal.signal(number, signal.SIG_DFL)

    def ask(self) -> None:
        """Asks for it, from any thread."""
        try:
            self._sender.send(b"\0")
        except OSError:
            # It was asked for so often that nothing more fits in, or all is over.
            return


@contextmanager
def stop_signals(*numbers: signal.Signals) -> Iterator[StopRequest]:
    """Catches signals from now on, in the main thread.

    Args:
        numbers: Which; SIGTERM and SIGINT when none is named.

    Yields:
        Waits for the first of them, which may have come already.
    """
    caught = numbers or STOPPING
    receiver, sender = socket.socketpair()
    with receiver, sender:
        sender.setblocking(False)
        # Written to at once, whichever thread the signal reaches: those of the libraries block none, and a
        # handler in Python would only run when the main thread wakes up by itself.
        before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        for number in caught:
            signal.signal(number, _caught)
        try:
            yield StopRequest(receiver, sender, caught)
        finally:
            signal.set_wakeup_fd(before)


def _caught(_number: int, _frame: object) -> None:
    """Keeps the signal from ending the process; the socket has it."""
