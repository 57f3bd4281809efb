"""The TypeScript client's folder with what its lock names, installed once for each lock."""

from __future__ import annotations

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from tests.readme.snippets import made

PACKAGE = Path(__file__).resolve().parents[3] / "clients" / "typescript"
OLDEST_NODE = 20


@pytest.fixture(scope="session")
def package() -> Path:
    """The package's folder, ready to be built; a skip says what is missing."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(told.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"the client needs Node {OLDEST_NODE}, this is {told.strip()}")
    # `npm ci` takes a while and clears the folder first: only a new lock is worth it.
    stamp = PACKAGE / "node_modules" / ".locked"
    lock = sha256((PACKAGE / "package-lock.json").read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != lock:
        made(["npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"], PACKAGE)
        stamp.write_text(lock, encoding="utf-8")
    return PACKAGE
