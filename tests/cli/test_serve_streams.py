"""`pinch serve` whose standard error takes nothing: calls are answered, and a signal ends it."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from bench.scrape import scrape, series
from pinch import Limits, PinchClient
from tests.cli.commands import command, environment
from tests.rpc.conversations import body
from tests.workers.processes import until

SMALL = Limits(budget_tokens=2_000, keep_last_turns=1)


@dataclass
class Serving:
    """A server, and where it is."""

    process: subprocess.Popen[bytes]
    grpc: str
    http: str

    def prune(self, times: int) -> None:
        with PinchClient(self.grpc, strict=True, timeout=20) as client:
            for _ in range(times):
                assert client.prune_openai(body(), limits=SMALL).persisted

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@contextmanager
def serving(state: Path, stderr: IO[bytes] | int | None, *before: str) -> Iterator[Serving]:
    words = command("serve", "--ready-json", "--state-dir", str(state))
    words += ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    with subprocess.Popen(
        [*before, *words], stdout=subprocess.PIPE, stderr=stderr, env=environment(state)
    ) as process:
        try:
            assert process.stdout is not None
            at = json.loads(process.stdout.readline())
            yield Serving(process, at["grpc"], at["http"])
        finally:
            process.kill()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_under_standard_error_costs_lines_alone(tmp_path: Path) -> None:
    """With no room for a line, the service starts, answers, counts what was lost, and stops with status 0."""
    with Path("/dev/full").open("wb") as full, serving(tmp_path, full) as server:
        server.prune(5)
        until(lambda: series(scrape(server.http))["pinch_log_lines_dropped_total"] > 5)
        assert server.stop() == 0


def test_a_closed_pipe_under_standard_error_costs_lines_alone(tmp_path: Path) -> None:
    """When whoever read the lines is gone, calls are answered and a signal ends the service."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as end, os.fdopen(writer, "wb") as pipe, serving(tmp_path, pipe) as server:
        pipe.close()
        end.close()
        server.prune(5)
        assert server.stop() == 0


def test_a_pipe_that_nobody_reads_costs_lines_alone(tmp_path: Path) -> None:
    """When whoever should read the lines sleeps, calls are answered and a signal ends the service."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "wb") as pipe:
        # A pipe that is full from the beginning: the first line already finds no room.
        os.set_blocking(writer, False)
        while True:
            try:
                os.write(writer, b"x" * 1024)
            except BlockingIOError:
                break
        os.set_blocking(writer, True)
        with serving(tmp_path, pipe) as server:
            server.prune(5)
            assert server.stop() == 0


def test_standard_error_may_be_closed(tmp_path: Path) -> None:
    """A service that was started without standard error answers, and no line gets into another file."""
    with serving(tmp_path, None, "sh", "-c", 'exec "$0" "$@" 2>&-') as server:
        server.prune(5)
        assert server.stop() == 0
    with (tmp_path / "pinch.sqlite3").open("rb") as file:
        assert file.read(15) == b"SQLite format 3"
