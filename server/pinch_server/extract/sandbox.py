"""Where a model's program runs: a process of its own, forked for one job and bounded by the kernel.

The interpreter cannot be bounded in process: doubling a string or squaring a number never asks whether to go
on, and what runs out of memory aborts. So the service never imports it.
"""

import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Final

from pinch_server.extract.frames import NEVER_BORN, BrokenFrameError, pack_job, receive_result
from pinch_server.extract.program import MOST_INPUT_BYTES, MOST_PROGRAM_BYTES, FaultKind, ProgramFault, Ran

MODULES: Final = ("starlark", "re2")
"""What the zygote imports, one module for each distribution of the [extract] extra."""
_ROOT: Final = str(Path(__file__).parents[2])
_BOOT: Final = (
    f"import sys; sys.path.insert(0, {_ROOT!r}); from pinch_server.extract.zygote import main; main()"
)
_START_SECONDS: Final = 30.0
_TRANSPORT_SECONDS: Final = 12.0
"""Time for a job beyond its own: more than the job takes for reading and writing at most (seconds)."""
_ATTEMPTS: Final = 2
_OUT_OF_TIME: Final = frozenset({signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL})


class SandboxError(Exception):
    """The sandbox does not start; the text says why and what would mend it."""


class Sandbox:
    """Runs programs. Shared by threads; one per process, closed once.

    Args:
        most_jobs: Most programs at a time; further ones wait.
        memory_bytes: Address space of one program, of which the interpreter takes about 100 MB.
        cpu_seconds: Processor time of one program (seconds).
        wall_seconds: Time of one program (seconds), for a machine that is busy with others.
    """

    def __init__(
        self,
        *,
        most_jobs: int = 4,
        memory_bytes: int = 512 << 20,
        cpu_seconds: int = 2,
        wall_seconds: float = 4.0,
    ) -> None:
        self._bounds = (str(memory_bytes), str(cpu_seconds), str(wall_seconds))
        self._seconds = wall_seconds + _TRANSPORT_SECONDS
        self._slots = BoundedSemaphore(most_jobs)
        self._lock = Lock()
        self._zygote: _Zygote | None = None
        self._is_closed = False

    def start(self) -> None:
        """Starts the process that jobs are forked from; needless before `run`, but then an error is early.

        Raises:
            SandboxError: It does not start.
        """
        self._running()

    def run(self, program: str, text: str) -> Ran | ProgramFault:
        """Runs a program over a text; never raises, whatever the program is.

        Args:
            program: Starlark, as `prompts` describes it.
            text: What it finds in INPUT.
        """
        try:
            if len(program.encode()) > MOST_PROGRAM_BYTES:
                return ProgramFault(FaultKind.PROGRAM_SIZE)
            job = pack_job(program, text)
        except UnicodeEncodeError:
            return ProgramFault(FaultKind.RUNTIME, "a lone surrogate is no text")
        if len(job) > MOST_INPUT_BYTES and len(text.encode()) > MOST_INPUT_BYTES:
            return ProgramFault(FaultKind.INPUT_SIZE)
        with self._slots:
            for _ in range(_ATTEMPTS):
                try:
                    zygote = self._running()
                    result = zygote.run(job, self._seconds)
                except SandboxError as error:
                    return ProgramFault(FaultKind.UNAVAILABLE, str(error))
                if result is not None:
                    return result
                self._discard(zygote)
        return ProgramFault(FaultKind.UNAVAILABLE, "it went away twice")

    def close(self) -> None:
        """Ends the process and what it runs."""
        with self._lock:
            self._is_closed = True
            zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.close()

    def _running(self) -> "_Zygote":
        with self._lock:
            if self._is_closed:
                raise SandboxError("the sandbox is closed")
            if self._zygote is not None and not self._zygote.is_alive():
                self._zygote.close()
                self._zygote = None
            if self._zygote is None:
                self._zygote = _Zygote(self._bounds)
            return self._zygote

    def _discard(self, zygote: "_Zygote") -> None:
        with self._lock:
            if self._zygote is zygote:
                self._zygote = None
        zygote.close()


class _Zygote:
    """The process at the other end of a control socket."""

    def __init__(self, bounds: tuple[str, ...]) -> None:
        missing = [name for name in MODULES if find_spec(name) is None]
        if missing:
            raise SandboxError(
                f"extraction needs {' and '.join(missing)}; in the checkout: pip install '.[server,extract]'"
            )
        self._control, theirs = _socketpair()
        self._lock = Lock()
        try:
            # Nothing of the service's environment, where keys may be.
            self._process = subprocess.Popen(  # noqa: S603 our own code, by this interpreter
                [sys.executable, "-I", "-B", "-c", _BOOT, str(theirs.fileno()), *bounds],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={"RUST_BACKTRACE": "0"},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            self._control.close()
            raise SandboxError(f"the sandbox cannot be started: {error.strerror}") from error
        finally:
            theirs.close()
        self._control.settimeout(_START_SECONDS)
        try:
            is_ready = self._control.recv(1) == b"+"
        except OSError:
            is_ready = False
        if not is_ready:
            self.close()
            raise SandboxError(f"the sandbox did not start (exit status {self._process.returncode})")

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def run(self, job: bytes, seconds: float) -> Ran | ProgramFault | None:
        """Runs one job; None when it is the zygote that failed.

        Raises:
            SandboxError: The service itself has nothing left to run it with.
        """
        ours, theirs = _socketpair()
        for end in (ours, theirs):
            # A megabyte crosses in few turns; the kernel grants what it allows.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        try:
            try:
                with self._lock:
                    socket.send_fds(self._control, [b"j"], [theirs.fileno()])
            except OSError:
                return None
            finally:
                theirs.close()
            ours.settimeout(seconds)
            try:
                ours.sendall(job)
            except ConnectionError:
                return None
            result = receive_result(ours, seconds)
        except (BrokenFrameError, TimeoutError):
            return None
        finally:
            ours.close()
        return _verdict(result) if isinstance(result, int) else result

    def close(self) -> None:
        self._control.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _socketpair() -> tuple[socket.socket, socket.socket]:
    try:
        return socket.socketpair()
    except OSError as error:
        raise SandboxError(f"the sandbox cannot be reached: {error.strerror}") from error


def _verdict(number: int) -> ProgramFault:
    if number == NEVER_BORN:
        return ProgramFault(FaultKind.UNAVAILABLE, "no process could be started")
    if number in _OUT_OF_TIME:
        return ProgramFault(FaultKind.RUNTIME, "out of time")
    name = signal.Signals(number).name if number in set(signal.Signals) else "an exit"
    return ProgramFault(FaultKind.PANIC, f"out of memory or stack ({name})")
