"""Keeps one worker running: starts it, hears what it says, and starts it anew when it ends."""

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pinch_server.workers.channel import Channel
from pinch_server.workers.messages import Failed, Message, Orders, Ready, Stop

_LOG: Final = logging.getLogger(__name__)

START_SECONDS: Final = 120.0
"""How long a worker may take until it is ready (seconds)."""
_FIRST_PAUSE_SECONDS: Final = 0.1
_LAST_PAUSE_SECONDS: Final = 10.0
_STEADY_SECONDS: Final = 30.0
_END_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Job:
    """What stays the same when a worker's process is replaced.

    Attributes:
        module: What the interpreter runs; it gets the descriptor of its channel as its argument.
        index: Which of the workers it is, from 0.
        orders: Makes its first words, as things are when a process starts.
        descriptors: Open files it inherits, under the same numbers.
    """

    module: str
    index: int
    orders: Callable[[], Orders]
    descriptors: Sequence[int] = ()


class Keeper:
    """Owns a thread for one worker; started by `start`, ended by `stop` and `join`.

    Args:
        job: What the worker does.
        changed: Called when `is_ready` or `failure` may have changed.
        gone: Called when a worker that was ready has ended unasked.
        heard: Given whatever else the worker says.
    """

    def __init__(
        self,
        job: Job,
        *,
        changed: Callable[[], None],
        gone: Callable[[], None],
        heard: Callable[[Message], None],
    ) -> None:
        self._job = job
        self._changed = changed
        self._gone = gone
        self._heard = heard
        self._stopping = threading.Event()
        # Guards what `stop` and `kill` touch while the thread replaces it.
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._is_killed = False
        self._has_been_ready = False
        self.is_ready = False
        """Whether the worker takes calls."""
        self.failure: str | None = None
        """Why the first worker could not start."""
        self._thread = threading.Thread(target=self._run, name=f"pinch-keeper-{job.index}", daemon=True)

    def start(self) -> None:
        """Starts the worker; `changed` is called when it is ready, or cannot be."""
        self._thread.start()

    def say(self, message: Message) -> bool:
        """Says something to the worker as it is now; False when there is none."""
        with self._lock:
            channel = self._channel
        return channel is not None and channel.send(message)

    def stop(self) -> None:
        """Asks the worker to finish its calls and end; no other takes its place."""
        self._stopping.set()
        self.say(Stop())

    def kill(self) -> None:
        """Ends the worker at once."""
        self._stopping.set()
        with self._lock:
            self._is_killed = True
            if self._process is not None:
                self._process.kill()

    def join(self, seconds: float) -> bool:
        """Waits until the worker is gone for good; False when the time (seconds) is over first."""
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            began = time.monotonic()
            why = self._live()
            self.is_ready = False
            if self._stopping.is_set():
                break
            if not self._has_been_ready:
                self.failure = why
                break
            self._gone()
            self._changed()
            pause = _FIRST_PAUSE_SECONDS if time.monotonic() - began > _STEADY_SECONDS else pause
            index = self._job.index
            _LOG.warning("worker %d %s; another starts in %.1f s", index, why, pause)
            self._stopping.wait(pause)
            pause = min(pause * 2, _LAST_PAUSE_SECONDS)
        self._changed()

    def _live(self) -> str:
        """One worker's life; how it ended."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = _started(self._job, theirs.fileno())
            except OSError as error:
                ours.close()
                return f"could not be started: {error}"
        channel = Channel(ours)
        with self._lock:
            # In this order and under the lock: whoever says something to the worker says it after its orders,
            # and what changed before it could be said is in them.
            channel.send(self._job.orders())
            self._process, self._channel = process, channel
            if self._is_killed:
                process.kill()
        try:
            why = self._listen(channel)
            return why or _ending(process, patient=self._stopping.is_set())
        finally:
            with self._lock:
                self._process = self._channel = None
            if process.poll() is None:
                process.kill()
                process.wait()
            channel.close()

    def _listen(self, channel: Channel) -> str | None:
        """Hears the worker out; why it is given up, or None when it went by itself."""
        seconds: float | None = START_SECONDS
        while True:
            try:
                message = channel.receive(seconds)
            except TimeoutError:
                return f"was not ready after {START_SECONDS:g} s"
            match message:
                case None:
                    return None
                case Failed():
                    return message.reason
                case Ready():
                    seconds = None
                    self._has_been_ready = self.is_ready = True
                    self._changed()
                    if self._stopping.is_set():
                        channel.send(Stop())
                case _:
                    self._heard(message)


def _started(job: Job, channel: int) -> "subprocess.Popen[bytes]":
    # -P and the path: the worker finds what this process finds, and nothing of the current directory beside.
    command = [sys.executable, "-P", "-m", job.module, str(channel)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    return subprocess.Popen(  # noqa: S603 the interpreter that runs, with a module of ours
        command,
        stdin=subprocess.DEVNULL,
        # Standard output is this process's alone: whoever reads the ready line reads nothing else.
        stdout=subprocess.DEVNULL,
        env=environment,
        pass_fds=(channel, *job.descriptors),
        # A terminal's interrupt reaches this process, which then asks each worker.
        process_group=0,
    )


def _ending(process: "subprocess.Popen[bytes]", *, patient: bool) -> str:
    """How a process ended that has closed its channel."""
    try:
        status = process.wait(None if patient else _END_SECONDS)
    except subprocess.TimeoutExpired:
        return "no longer answered and was killed"
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
