"""The benches, each run as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
"""The checkout."""


def run_bench(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m bench.NAME` in the checkout."""
    paths = (ROOT / "server", ROOT / "clients" / "python", ROOT)
    return subprocess.run(
        [sys.executable, "-m", f"bench.{name}", *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
