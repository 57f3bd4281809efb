"""One job, in a process of its own that lives for nothing else and is bounded by the kernel."""

import os
import resource
import signal
import socket
from dataclasses import dataclass
from typing import Final

from pinch_server.extract.dialect import run_program
from pinch_server.extract.frames import BrokenFrameError, pack_result, receive_job

_DESCRIPTORS: Final = 1_024
_TRANSPORT_SECONDS: Final = 5.0
"""Time to read a job, and to hand its result over (seconds)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the kernel allows a job.

    Attributes:
        memory_bytes: Its whole address space, the interpreter included.
        cpu_seconds: Processor time (seconds).
        wall_seconds: Time from the first instruction to the last (seconds).
    """

    memory_bytes: int = 512 << 20
    cpu_seconds: int = 2
    wall_seconds: float = 4.0


def work(channel: socket.socket, bounds: Bounds) -> None:
    """Reads a job, runs it within its bounds and sends the result; for a forked process that exits then."""
    # Every other descriptor is the zygote's; the first three lead nowhere.
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, _DESCRIPTORS)
    # The default action of each of these is to kill, even while native code runs.
    for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, _TRANSPORT_SECONDS)
    try:
        program, text = receive_job(channel, _TRANSPORT_SECONDS)
    except (BrokenFrameError, TimeoutError):
        return
    _bound(bounds)
    signal.setitimer(signal.ITIMER_REAL, bounds.wall_seconds)
    frame = pack_result(run_program(program, text))
    signal.setitimer(signal.ITIMER_REAL, _TRANSPORT_SECONDS)
    channel.settimeout(_TRANSPORT_SECONDS)
    channel.sendall(frame)


def _bound(bounds: Bounds) -> None:
    limits = {
        resource.RLIMIT_AS: (bounds.memory_bytes, bounds.memory_bytes),
        # The first ends it with a signal that says why; the second is for one that would not end.
        resource.RLIMIT_CPU: (bounds.cpu_seconds, bounds.cpu_seconds + 1),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (16, 16),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NPROC: (0, 0),
    }
    for which, values in limits.items():
        resource.setrlimit(which, values)
