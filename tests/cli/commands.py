"""Running the command line: in this process, or as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner, Result

from pinch_server.cli import main

ROOT = Path(__file__).resolve().parents[2]


def environment(home: Path, **variables: str) -> dict[str, str]:
    """An environment without settings of whoever runs the tests, and with a home directory of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("PINCH_")}
    paths = [str(ROOT / "server"), str(ROOT / "clients" / "python")]
    own = {"HOME": str(home), "XDG_STATE_HOME": str(home), "PYTHONPATH": os.pathsep.join(paths)}
    return kept | own | variables


def command(*arguments: str) -> list[str]:
    """The `pinch` command as a list for subprocess."""
    return [sys.executable, "-m", "pinch_server", *arguments]


def run(
    *arguments: str, home: Path, stdin: bytes = b"", variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs `pinch` as a process of its own."""
    return subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        env=environment(home, **(variables or {})),
        check=False,
    )


def invoke(*arguments: str, stdin: bytes = b"") -> Result:
    """Runs `pinch` in this process."""
    return CliRunner().invoke(main, list(arguments), input=stdin, prog_name="pinch")
