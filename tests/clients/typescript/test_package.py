"""The TypeScript client, as its own tools see it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme.snippets import made

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 300
SMOKE = """
import { MESSAGE_LIMIT_BYTES, PinchClient, VERSION } from "pinch-grpc";
const client = new PinchClient("127.0.0.1:1");
const body = { messages: [] };
const result = await client.pruneOpenAI(body);
await client.close();
console.log(JSON.stringify([VERSION, MESSAGE_LIMIT_BYTES, result.body === body, result.reason]));
"""


def run(package: Path, *command: str | Path, **variables: str) -> str:
    """What a command prints that must succeed in the package's folder."""
    done = subprocess.run(
        command,
        cwd=package,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("script", ["lint", "format:check"])
def test_the_linters_find_nothing(package: Path, script: str) -> None:
    """eslint, with the types and TSDoc, and prettier have nothing to say."""
    run(package, "npm", "run", "--silent", script)


def test_its_own_tests_pass(package: Path) -> None:
    """The client compiles under strict rules, and holds the contract against a real server."""
    paths = os.pathsep.join(map(str, (ROOT / "server", ROOT / "clients" / "python", ROOT)))
    server = f"{sys.executable} -m pinch_server serve --testing"
    told = run(package, "npm", "test", "--silent", PYTHONPATH=paths, PINCHTEST_COMMAND=server)
    assert "\n# fail 0\n" in told


def test_committed_code_equals_generated_code(package: Path, tmp_path: Path) -> None:
    """Generating the messages again gives exactly the committed files, none more and none fewer."""
    buf = Path(sys.executable).with_name("buf")
    if not buf.exists():
        pytest.skip("buf is not installed beside this Python")
    proto = ROOT / "proto"
    template, only = package / "buf.gen.yaml", proto / "pinch" / "v1" / "prune.proto"
    run(package, buf, "generate", proto, "--template", template, "--path", only, "--output", tmp_path)
    committed, fresh = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (package / "src" / "generated", tmp_path / "src" / "generated")
    )
    assert committed == fresh, "run `npm run generate`"


def test_what_is_published_works_where_it_is_installed(package: Path, tmp_path: Path) -> None:
    """The packed package has code, types, README and license alone, and an empty folder can use it."""
    (packed,) = json.loads(run(package, "npm", "pack", "--json", "--pack-destination", tmp_path))
    paths = {file["path"] for file in packed["files"]}
    assert {"LICENSE", "README.md", "package.json", "dist/index.js", "dist/index.d.ts"} <= paths
    assert {path.split("/")[0] for path in paths} == {"LICENSE", "README.md", "package.json", "dist"}

    folder = tmp_path / "router"
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    made(["npm", "install", "--prefer-offline", "--ignore-scripts", tmp_path / packed["filename"]], folder)
    (folder / "smoke.mjs").write_text(SMOKE)
    version = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    assert json.loads(run(folder, "node", "smoke.mjs")) == [version, 64 * 1024 * 1024, True, "unavailable"]

    # The types are read as a router's compiler reads them, whose own checks are strict.
    shutil.copy(folder / "smoke.mjs", folder / "smoke.mts")
    compiler = package / "node_modules" / ".bin" / "tsc"
    types = package / "node_modules" / "@types"
    run(folder, compiler, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext",
        "--types", "node", "--typeRoots", types, "smoke.mts")  # fmt: skip


def test_the_version_is_the_servers(package: Path) -> None:
    """The package has the version of the distribution that it comes with."""
    from pinch_server import __version__

    assert json.loads((package / "package.json").read_text(encoding="utf-8"))["version"] == __version__
