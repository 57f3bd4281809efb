"""The gateways themselves, in an environment of their own, and the blocks of docs/integrations.md."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "integrations.md"
_READY_SECONDS = 120.0
_STOP_SECONDS = 20.0
_BLOCK = re.compile(r"^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def gateway(program: str) -> str:
    """The path of a program of the gateways' environment, or a skip that says how to get it."""
    python = os.environ.get("GATEWAYS_PYTHON", "")
    path = Path(python).parent / program
    if not python or not path.exists():
        pytest.skip(f"{program} is not installed; `make gateways` installs it and runs these tests")
    return str(path)


def block(first_line: str) -> str:
    """The block of docs/integrations.md that begins with this line."""
    found = [text for text in _BLOCK.findall(PAGE.read_text(encoding="utf-8")) if text.startswith(first_line)]
    assert len(found) == 1, f"{first_line!r} begins {len(found)} blocks"
    return found[0]


def changed(text: str, changes: Mapping[str, str]) -> str:
    """A text with some of its words changed, each of which must be there."""
    for was, now in changes.items():
        assert was in text, was
        text = text.replace(was, now)
    return text


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
        return port


@contextmanager
def started(
    command: Sequence[str], ready: str, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program until the block is left; inside it, it answers at the address `ready`."""
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
    try:
        _await(process, ready, log)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(process: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        try:
            with urllib.request.urlopen(ready, timeout=5):  # noqa: S310 an address of this test's own
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            assert process.poll() is None, log.read_text(errors="replace")[-4000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-4000:]
            # Nothing else says when a foreign program is ready.
            time.sleep(0.05)
