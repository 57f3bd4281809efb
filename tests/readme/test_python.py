"""The README's Python code runs and keeps its word."""

import sys
from pathlib import Path

import pytest

from tests.readme.snippets import ADDRESS, Program, forwards_the_original, holds_its_promises, snippet

AROUND = """import sys
from pathlib import Path

given, out = map(Path, sys.argv[1:])
body = given.read_bytes()
forward = out.write_bytes
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The README's code as a script."""

    def command(address: str, deadline: float) -> list[str | Path]:
        opened = f'PinchClient("{address}", timeout={deadline})'
        script = tmp_path / "prune.py"
        script.write_text(AROUND + snippet("python", (f'PinchClient("{ADDRESS}")', opened)))
        return [sys.executable, script]

    return command


def test_what_is_forwarded_is_what_the_command_line_gives(program: Program, tmp_path: Path) -> None:
    """Bodies of any size, one over gRPC's own bound, come out as from `pinch prune`."""
    holds_its_promises(program, tmp_path)


def test_the_original_is_forwarded_when_nobody_answers(program: Program, tmp_path: Path) -> None:
    """A service that hangs, and one that is gone, cost the deadline and no request."""
    forwards_the_original(program, tmp_path)
