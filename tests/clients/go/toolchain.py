"""The Go toolchain: whether it is there, and how its commands are run in the client's module."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULE = ROOT / "clients" / "go"
_UNREACHABLE = re.compile(r"dial tcp|no such host|i/o timeout|connection refused|TLS handshake timeout")


def needs_go(module: Path = MODULE) -> None:
    """Skips a test where Go is not installed, or is older than a module says that it needs."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    wanted = re.search(r"^go (\S+)$", (module / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    asked = subprocess.run(
        ["go", "env", "GOVERSION"], capture_output=True, text=True, check=True, env=_local()
    )
    assert wanted is not None
    if _numbers(asked.stdout) < _numbers(wanted[1]):
        pytest.skip(f"{module.name} needs Go {wanted[1]}, and this is {asked.stdout.strip()}")


def go(*command: str | Path, folder: Path = MODULE, variables: Mapping[str, str] | None = None) -> str:
    """What a command prints that must succeed; a test whose modules cannot be fetched is skipped."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**_local(), **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 and _UNREACHABLE.search(done.stderr):
        pytest.skip(f"what it needs cannot be fetched: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def server_variables() -> dict[str, str]:
    """With these, Go's tests start this project's server, and fail where they would else be skipped."""
    paths = (ROOT / "server", ROOT / "clients" / "python", ROOT)
    return {
        "PINCHTEST_ALL": "1",
        "PINCHTEST_COMMAND": f"{sys.executable} -m pinch_server serve --testing",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }


def _local() -> dict[str, str]:
    """The environment, in which Go is never replaced by a newer one that it would have to fetch."""
    return {**os.environ, "GOTOOLCHAIN": "local"}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
