"""The README's Node code runs and keeps its word."""

import shutil
from pathlib import Path

import pytest

from tests.readme.snippets import (
    ADDRESS,
    ROOT,
    Program,
    forwards_the_original,
    holds_its_promises,
    made,
    snippet,
)

AROUND = """import { readFileSync, writeFileSync } from "node:fs";
const body = readFileSync(process.argv[2]);
const forward = (bytes) => {
  writeFileSync(process.argv[3], bytes);
  process.exit(); // a router goes on with the same client, whose channel would keep this process
};
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages and the proto files, as a checkout would be."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("node")
    for file in (ROOT / "tests" / "readme" / "node").iterdir():
        shutil.copy(file, folder)
    (folder / "proto").symlink_to(ROOT / "proto")
    made(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder)
    return folder


@pytest.fixture
def program(folder: Path) -> Program:
    """The README's code as a script."""

    def command(address: str, deadline: float) -> list[str | Path]:
        milliseconds = f"Date.now() + {round(deadline * 1000)} }}"
        script = folder / "prune.mjs"
        script.write_text(AROUND + snippet("js", (ADDRESS, address), ("Date.now() + 2000 }", milliseconds)))
        return ["node", script]

    return command


def test_what_is_forwarded_is_what_the_command_line_gives(program: Program, tmp_path: Path) -> None:
    """Bodies of any size, one over gRPC's own bound, come out as from `pinch prune`."""
    holds_its_promises(program, tmp_path)


def test_the_original_is_forwarded_when_nobody_answers(program: Program, tmp_path: Path) -> None:
    """A service that hangs, and one that is gone, cost the deadline and no request."""
    forwards_the_original(program, tmp_path)
