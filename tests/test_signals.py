"""The signal that stops a service."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import environment

SCRIPT = """
import os, signal, threading
from pinch_server.signals import stop_signals

with stop_signals() as stop:
    {send}
    stop.wait()
    print("stopping", flush=True)
    {then}
    print("stopped", flush=True)
"""

FROM_HERE = "os.kill(os.getpid(), signal.SIGTERM)"
TO_ANOTHER_THREAD = """
    def other():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    threading.Thread(target=other).start()
"""


def run_script(home: Path, send: str, then: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.format(send=send.strip(), then=then)],
        capture_output=True,
        text=True,
        env=environment(home),
        check=False,
    )


@pytest.mark.parametrize("send", [FROM_HERE, TO_ANOTHER_THREAD], ids=["main thread", "another thread"])
def test_one_signal_ends_the_wait(tmp_path: Path, send: str) -> None:
    """A signal that comes before the wait is not lost, whichever thread it reaches."""
    done = run_script(tmp_path, send)
    assert (done.returncode, done.stdout) == (0, "stopping\nstopped\n"), done.stderr


def test_the_second_ends_the_process(tmp_path: Path) -> None:
    """Who asks again while the service stops is obeyed at once."""
    done = run_script(tmp_path, FROM_HERE, then=FROM_HERE)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "stopping\n")
