"""The benches of the store, on a small scale: they run, and their figures are whole."""

import json
from pathlib import Path

import pytest

from bench import persistence
from bench.savings import __main__ as savings
from bench.savings.rows import COLUMNS, rows
from pinch_server.store.periods import DAY


def test_made_up_rows_fill_thirty_days() -> None:
    """Rows are in order, have an id each, fill the window, and are the same for the same seed."""
    made = [dict(zip(COLUMNS, row, strict=True)) for row in rows(1_000, 100 * DAY)]
    times = [row["created_at"] for row in made]
    assert times == sorted(times)
    assert times[-1] == 100 * DAY
    assert times[0] > 70 * DAY
    assert len({row["decision_id"] for row in made}) == 1_000
    assert {row["outcome"] for row in made} == {"dispatched", "pending", "rejected"}
    assert list(rows(3, DAY)) == list(rows(3, DAY))


def test_savings_are_timed(tmp_path: Path) -> None:
    """Each question has its time, and those over the whole window count the same calls."""
    report = tmp_path / "savings.json"
    arguments = ["--rows", "500", "--databases", "sqlite", "--repeat", "2", "--json", str(report)]
    assert savings.main(arguments) in (0, 1)
    told = json.loads(report.read_text())
    assert told["rows"] == 500
    calls = {one["question"]: one["calls"] for one in told["timings"]}
    assert 400 < calls["all, 30 days"] <= 500
    assert 0 < calls["one model"] < calls["all, 30 days"]


def test_persistence_is_compared(tmp_path: Path) -> None:
    """Each way of keeping decisions has its figures, and that of keeping none is the measure."""
    report = tmp_path / "persistence.json"
    arguments = ["--starts", "2", "--rounds", "1", "--calls", "5", "--seconds", "0", "--json", str(report)]
    if persistence.main(arguments) == 2:
        pytest.skip("no PostgreSQL server is installed")
    costs = {cost["kept"]: cost for cost in json.loads(report.read_text())["costs"]}
    assert costs.keys() == {"off", "sqlite", "postgresql"}
    assert costs["off"]["p50_ratio"] == costs["off"]["calls_ratio"] == 1
