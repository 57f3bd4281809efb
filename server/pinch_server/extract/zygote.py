"""The process that jobs are forked from: it has imported the interpreter, and nothing of a conversation.

A fork costs 2 ms where a new process costs 45. The service itself must not be forked: it has threads, and its
memory holds conversations and keys.
"""

import gc
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress

from pinch_server.extract.frames import EXITED, NEVER_BORN, pack_death
from pinch_server.extract.job import Bounds, work


def main() -> None:
    """Forks a job for each socket that comes over the control socket, until that closes.

    Arguments on the command line: the control socket's descriptor, then the three bounds.
    """
    descriptor, memory, cpu, wall = sys.argv[1:]
    control = socket.socket(fileno=int(descriptor))
    zygote = Zygote(control, Bounds(int(memory), int(cpu), float(wall)))
    # Objects that are never freed again are never written to either: forks go on sharing their pages.
    gc.collect()
    gc.freeze()
    control.sendall(b"+")
    try:
        zygote.serve()
    finally:
        zygote.end_jobs()


class Zygote:
    """Forks jobs and reaps them.

    Args:
        control: Brings one socket a job.
        bounds: What each job is allowed.
    """

    def __init__(self, control: socket.socket, bounds: Bounds) -> None:
        self._control = control
        self._bounds = bounds
        self._jobs: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, waker = socket.socketpair()
        for end in (self._woken, waker):
            end.setblocking(False)
        self._waker = waker
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        self._selector.register(control, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def serve(self) -> None:
        """Goes on until the control socket closes."""
        while True:
            ready = {key.fileobj for key, _ in self._selector.select()}
            if self._woken in ready:
                with suppress(BlockingIOError):
                    self._woken.recv(4_096)
                self._reap()
            # One byte a job: bytes that carry a descriptor are never read together.
            if self._control in ready:
                byte, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
                if not byte:
                    return
                for descriptor in descriptors:
                    self._fork(socket.socket(fileno=descriptor))

    def end_jobs(self) -> None:
        """Kills what still runs."""
        for pid in self._jobs:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _fork(self, channel: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError:
            self._tell(channel, NEVER_BORN)
            return
        if pid == 0:
            code = 1
            try:
                signal.set_wakeup_fd(-1)
                work(channel, self._bounds)
                code = 0
            finally:
                # Not through the parent's handlers, nor its buffers.
                os._exit(code)
        self._jobs[pid] = channel

    def _reap(self) -> None:
        for pid in list(self._jobs):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                channel = self._jobs.pop(pid)
                if status:
                    self._tell(channel, os.WTERMSIG(status) if os.WIFSIGNALED(status) else EXITED)
                else:
                    channel.close()

    @staticmethod
    def _tell(channel: socket.socket, signal_number: int) -> None:
        # Never waits: a service that does not read must not hold up its other jobs.
        channel.setblocking(False)
        with suppress(OSError):
            channel.send(pack_death(signal_number))
        channel.close()
