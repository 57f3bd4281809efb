"""Writes the Python code of the proto files: the API's below pinch/v1, Envoy's protocol's below pinch_server.

Run it with an interpreter that has grpcio-tools 1.73.1 and mypy-protobuf 5.1 (its output then runs on
grpcio >= 1.73.1 and protobuf >= 6.31, < 8)::

    python proto/generate.py [OUTPUT_ROOT]

Without OUTPUT_ROOT the API's code goes below clients/python, and the other below server.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROTO_ROOT = Path(__file__).resolve().parent
OUTPUT_ROOTS = {
    "pinch/v1": PROTO_ROOT.parent / "clients" / "python",
    "pinch_server/gateways/envoy/v1": PROTO_ROOT.parent / "server",
}
"""Where the code of each folder of proto files goes."""


def generate(folder: str, output_root: Path) -> int:
    """Runs protoc over the proto files of one folder.

    Args:
        folder: The folder, below the one of this file.
        output_root: Where the folder is written; made when absent.

    Returns:
        protoc's exit status, 0 for success.
    """
    output_root.mkdir(parents=True, exist_ok=True)
    # Plugins are named by path, so that the interpreter's environment need not be on PATH.
    scripts = Path(sys.executable).parent
    sources = sorted(path.relative_to(PROTO_ROOT).as_posix() for path in PROTO_ROOT.glob(f"{folder}/*.proto"))
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


def generate_all(output_root: Path | None) -> int:
    """Generates everything; stops at what fails.

    Args:
        output_root: Where all of it goes; None: each where it belongs.

    Returns:
        The first exit status that is not 0, or 0.
    """
    for folder, own_root in OUTPUT_ROOTS.items():
        status = generate(folder, output_root or own_root)
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(generate_all(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
