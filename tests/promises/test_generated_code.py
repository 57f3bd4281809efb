"""The committed code is what the proto files generate, byte for byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = {
    "pinch/v1": ROOT / "clients" / "python",
    "pinch_server/gateways/envoy/v1": ROOT / "server",
}
"""Where the code of each folder of proto files is committed."""


def generator_python() -> str:
    """The interpreter with grpcio-tools, or a skip that says why; under CI nothing is skipped."""
    python = os.environ.get("PROTO_PYTHON", "")
    if python and Path(python).exists():
        return python
    reason = "PROTO_PYTHON names no interpreter with grpcio-tools; `make test` sets it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def generated_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*_pb2*.py*")}


def test_committed_code_equals_generated_code(tmp_path: Path) -> None:
    """Generating everything again gives exactly the committed files, none more and none fewer."""
    command = [generator_python(), str(ROOT / "proto" / "generate.py"), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr

    for folder, root in COMMITTED.items():
        committed, fresh = generated_files(root / folder), generated_files(tmp_path / folder)
        assert fresh
        assert sorted(committed) == sorted(fresh)
        differing = [name for name in fresh if committed[name] != fresh[name]]
        assert not differing, f"run `make proto`: {', '.join(sorted(differing))}"


def test_only_the_package_marker_is_written_by_hand() -> None:
    """Beside generated files each folder of theirs holds nothing but an empty __init__.py."""
    for folder, root in COMMITTED.items():
        by_hand = [path for path in (root / folder).iterdir() if path.is_file() and "_pb2" not in path.name]
        assert [path.name for path in by_hand] == ["__init__.py"]
        assert by_hand[0].read_bytes() == b""
