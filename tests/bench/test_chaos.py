"""The chaos table in its short form: each fault against a real service, and no harm done."""

from pathlib import Path

import pytest

from bench.chaos.__main__ import FAULTS, main, run
from bench.chaos.row import Row
from bench.chaos.table import markdown
from bench.databases import NoDatabaseError
from bench.torture.disks import NoMountError


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    return {}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_does_harm(fault: str, rows: dict[str, Row]) -> None:
    """Under each fault no answer is wrong, nothing acknowledged is lost or doubled; all is well after it."""
    try:
        row = rows[fault] = run(fault, 1.0)
    except (NoDatabaseError, NoMountError) as error:
        pytest.skip(str(error))
    assert row.is_clean, row
    assert row.acknowledged > 0
    assert 0 < row.memory < 1_500 or fault == "torture", row


def test_the_faults_are_told_by_the_metrics(rows: dict[str, Row]) -> None:
    """What a fault did is on the page of metrics: restarts, failures, dropped records, missing vectors."""
    telling = {
        "worker": "pinch_worker_restarts_total",
        "database": "pinch_store_errors_total",
        "disk": "pinch_journal_dropped_total",
        "embedder": "pinch_relevance_unavailable_total",
    }
    for fault, name in telling.items():
        if fault in rows:
            assert any(series.startswith(name) for series in rows[fault].metrics), rows[fault]


def test_harm_is_a_status_and_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that is not well again, or has lost something, makes the command fail and is a row."""
    lost = Row("lost", {"OK": 2}, acknowledged=2, missing=1)

    def never(_directory: Path, _seconds: float) -> Row:
        raise TimeoutError("it never came")

    monkeypatch.setitem(FAULTS, "embedder", lambda _directory, _seconds: lost)
    monkeypatch.setitem(FAULTS, "database", never)
    report = tmp_path / "chaos.json"
    for fault in ("embedder", "database"):
        assert main(["--faults", fault, "--seconds", "1", "--json", str(report)]) == 1
    assert "it never came" in report.read_text()
    assert "| lost | OK 2 |" in markdown([lost])
