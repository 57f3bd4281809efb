"""A real server as a subprocess: started on free ports, stopped by SIGTERM."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

READY_SECONDS = 90.0
STOP_SECONDS = 20.0
_TAIL_LINES = 15


class ServerError(Exception):
    """The server did not start, did not become ready, or did not stop as it should."""


@dataclass(slots=True)
class RunningServer:
    """A started server and where it listens.

    Attributes:
        grpc: `host:port` of the gRPC port.
        http: `host:port` of the HTTP port.
        database: URL of the database that holds the decisions.
        workers: `host:port` of each worker's own port; empty where one process does all.
        process: The process itself.
        log: The file that takes what it writes to standard error.
        mouths: `host:port` of the HTTP endpoints for gateways; empty where there are none.
    """

    grpc: str
    http: str
    database: str
    workers: tuple[str, ...]
    process: subprocess.Popen[bytes]
    log: Path
    mouths: str = ""

    def stop(self) -> int:
        """Asks the server to stop (SIGTERM) and waits for it; harmless when it has ended already.

        Returns:
            Its exit status.

        Raises:
            ServerError: It had not ended after `STOP_SECONDS`, and was killed.
        """
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise ServerError(f"the server had not stopped after {STOP_SECONDS:g} s and was killed") from None


@contextmanager
def running_server(
    state: Path, *options: str, log: Path | None = None, module: str = "pinch_server"
) -> Iterator[RunningServer]:
    """A server on embedded defaults, with its state in the directory `state`.

    Args:
        state: A directory of its own: journals and the SQLite file go there.
        options: Further options for `serve`, which runs in one process unless they say otherwise.
        module: What is run as `pinch`.
        log: The file that takes its standard error; None: `server.log` in `state`.

    Yields:
        The server once it answers calls. Leaving the block stops it, if it has not been stopped before.

    Raises:
        ServerError: It ended or stayed silent before it was ready; the text quotes its last words.
    """
    log = log or state / "server.log"
    command = [sys.executable, "-m", module, "serve", "--ready-json", "--state-dir", str(state)]
    command += ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", "1", *options]
    with log.open("wb") as stderr, _started(command, stderr.fileno()) as process:
        yield _ready(_first_line(process, log), process, log)


def _ready(line: bytes, process: subprocess.Popen[bytes], log: Path) -> RunningServer:
    try:
        ready = json.loads(line)
        return RunningServer(
            ready["grpc"],
            ready["http"],
            ready["database"],
            tuple(ready["workers"]),
            process,
            log,
            ready["mouths"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ServerError(f"the server's ready line was not understood: {line!r}") from error


@contextmanager
def _started(command: Sequence[str], stderr: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=_environment()) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


def _environment() -> dict[str, str]:
    """This process's environment without settings of Pinch: defaults are what is shown and measured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PINCH_")}
    kept["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    return kept


def _first_line(process: subprocess.Popen[bytes], log: Path) -> bytes:
    stdout = process.stdout
    if stdout is None:
        raise ServerError("the server's output cannot be read")
    deadline = time.monotonic() + READY_SECONDS
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise ServerError(f"the server was not ready after {READY_SECONDS:g} s\n{_last_words(log)}")
            piece = os.read(stdout.fileno(), 65536)
            if not piece:
                status = process.wait()
                raise ServerError(
                    f"the server ended with status {status} before it was ready\n{_last_words(log)}"
                )
            line += piece
    return line


def _last_words(log: Path) -> str:
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:])
