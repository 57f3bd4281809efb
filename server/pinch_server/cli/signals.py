"""Waiting for the signal that stops a service."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_signals() -> Iterator[Callable[[], None]]:
    """Catches SIGTERM and SIGINT from now on, in the main thread.

    Yields:
        Waits for the first of them, which may have come already. From then on, the next one ends the process
        at once.
    """
    receiver, sender = socket.socketpair()
    with receiver, sender:
        sender.setblocking(False)
        # Written to at once, whichever thread the signal reaches: those of the libraries block none, and a
        # handler in Python would only run when the main thread wakes up by itself.
        before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        for number in _STOPPING:
            signal.signal(number, _caught)

        def wait() -> None:
            receiver.recv(1)
            for number in _STOPPING:
                signal.signal(number, signal.SIG_DFL)

        try:
            yield wait
        finally:
            signal.set_wakeup_fd(before)


def _caught(_number: int, _frame: object) -> None:
    """Keeps the signal from ending the process; the socket has it."""
