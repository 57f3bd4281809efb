"""The README's recipes for a shell work as they are pasted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.conversations import generate_bytes
from tests.readme.snippets import ADDRESS, ROOT
from tests.services.testing_server import serving_tests


def recipe(tool: str) -> str:
    """The README's only shell block that calls a tool."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    (block,) = [text for text in blocks if f"{tool} " in text]
    assert block.count(ADDRESS) == 1
    return str(block)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_tests(tmp_path_factory.mktemp("home")) as at:
        yield at["grpc"]


@pytest.mark.parametrize("tool", ["grpcurl", "buf curl"])
def test_a_recipe_tells_what_would_be_saved(tool: str, address: str, tmp_path: Path) -> None:
    """A body that is too large for a command line is sent, and the reply tells the saving."""
    # buf comes with the tests' own environment, which need not be active.
    path = os.pathsep.join((os.environ["PATH"], str(Path(sys.executable).parent)))
    program = tool.partition(" ")[0]
    if shutil.which(program, path=path) is None:
        pytest.skip(f"{program} is not installed; .ci/run installs it where Go is")
    (tmp_path / "body.json").write_bytes(generate_bytes(1, tokens=100_000))
    done = subprocess.run(
        ["sh", "-c", recipe(tool).replace(ADDRESS, address)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    stats = told["stats"]
    saved = stats.get("tokensSaved") or stats["tokens_saved"]
    assert int(saved) > 10_000
    assert (told.get("unchangedReason") or told["unchanged_reason"]) == "dry_run"
