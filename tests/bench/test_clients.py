"""The measurement of what a client adds to a bare call."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from bench.clients.__main__ import main


def test_each_driver_has_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python's forms are measured by real calls, and a further driver's figures by the same arithmetic."""
    other = tmp_path / "driver.py"
    times = {"stub_cpu_ms": [1, 2, 3], "client_cpu_ms": [2, 4, 5]}
    times |= {"stub_wall_ms": [10, 10, 10], "client_wall_ms": [15, 15, 15]}
    other.write_text(f"print({json.dumps(json.dumps({'language': 'Odd', 'forms': {'bytes': times}}))})")
    driver = shlex.join([sys.executable, str(other)])
    assert main(["--sizes", "5000", "--calls", "2", "--json", "--driver", driver]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["language"], row["form"]) for row in rows] == [
        ("Python", "bytes"),
        ("Python", "object"),
        ("Odd", "bytes"),
    ]
    assert all(row["edits"] > 0 for row in rows)
    odd = rows[-1]
    assert (odd["stub_cpu"], odd["own_cpu"], odd["ratio"], odd["wall_ratio"]) == (2, 2, 2, 1.5)


def test_a_driver_that_fails_ends_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    """A driver's failure is told in its own words, with status 1."""
    driver = shlex.join([sys.executable, "-c", "raise SystemExit('it broke')"])
    assert main(["--sizes", "5000", "--calls", "1", "--driver", driver]) == 1
    assert "it broke" in capsys.readouterr().err
