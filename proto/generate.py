"""Writes the Python code of pinch.v1 from its proto files.

Run it with an interpreter that has grpcio-tools 1.73.1 and mypy-protobuf 5.1 (its output then runs on
grpcio >= 1.73.1 and protobuf >= 6.31, < 8)::

    python proto/generate.py [OUTPUT_ROOT]

OUTPUT_ROOT defaults to clients/python. Files appear below OUTPUT_ROOT/pinch/v1.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROTO_ROOT = Path(__file__).resolve().parent
DEFAULT_OUTPUT_ROOT = PROTO_ROOT.parent / "clients" / "python"


def generate(output_root: Path) -> int:
    """Runs protoc over every proto file of the contract.

    Args:
        output_root: Folder under which `pinch/v1` is written; made when absent.

    Returns:
        protoc's exit status, 0 for success.
    """
    output_root.mkdir(parents=True, exist_ok=True)
    # Plugins are named by path, so that the interpreter's environment need not be on PATH.
    scripts = Path(sys.executable).parent
    sources = sorted(path.relative_to(PROTO_ROOT).as_posix() for path in PROTO_ROOT.glob("pinch/v1/*.proto"))
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"--proto_path={PROTO_ROOT}",
        f"--plugin=protoc-gen-mypy={scripts / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={scripts / 'protoc-gen-mypy_grpc'}",
        f"--python_out={output_root}",
        f"--grpc_python_out={output_root}",
        f"--mypy_out=quiet:{output_root}",
        f"--mypy_grpc_out=quiet:{output_root}",
        *sources,
    ]
    return subprocess.run(command, check=False).returncode  # noqa: S603  # every word of it is ours


if __name__ == "__main__":
    sys.exit(generate(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_OUTPUT_ROOT))
