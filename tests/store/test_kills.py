"""The short kill test: workers die under load, and every acknowledged decision is stored exactly once."""

import subprocess
import sys
from pathlib import Path

from sqlalchemy import select

from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from pinch_server.store.recorder import JournalRecorder
from pinch_server.store.tables import prune_decisions
from tests.services.postgres import PostgresServer
from tests.store.samples import CountingObserver

_ROOT = Path(__file__).resolve().parents[2]
_ACKNOWLEDGED = 400


def _kill_under_load(url: str, journal: Path, turn: int) -> set[str]:
    """Run a worker, kill it once it acknowledged enough, and return all that it acknowledged."""
    worker = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("recorder_process.py")), url, str(journal), str(turn)],
        cwd=_ROOT,
        env={"PYTHONPATH": "server:."},
        stdout=subprocess.PIPE,
    )
    with worker:
        assert worker.stdout is not None
        lines = [worker.stdout.readline() for _ in range(_ACKNOWLEDGED)]
        worker.kill()
        lines += worker.stdout.readlines()
    whole = {line.decode().strip() for line in lines if line.endswith(b"\n")}
    assert len(whole) >= _ACKNOWLEDGED
    return whole


def _assert_all_stored(url: str, journal: Path, acknowledged: set[str]) -> None:
    """Let a last worker adopt what is left, and compare with the database."""
    engine = open_engine(url)
    recorder = JournalRecorder(engine, journal, CountingObserver(), max_bytes=64 * 1024 * 1024)
    assert recorder.flush(120)
    recorder.close()
    with engine.connect() as connection:
        stored = connection.execute(select(prune_decisions.c.decision_id)).scalars().all()
    engine.dispose()
    assert len(stored) == len(set(stored))
    assert acknowledged - set(stored) == set()
    assert list(journal.iterdir()) == []


def test_kills_while_the_schema_is_missing_and_then_there(database_url: str, tmp_path: Path) -> None:
    """Killed six times, twice before the database could take anything: nothing is lost or doubled."""
    journal = tmp_path / "journal"
    acknowledged: set[str] = set()
    for turn in range(6):
        if turn == 2:
            migrate.up(database_url)
        acknowledged |= _kill_under_load(database_url, journal, turn)
    _assert_all_stored(database_url, journal, acknowledged)


def test_kills_while_the_server_goes_and_comes(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    """Killed while PostgreSQL is up, down and up again: nothing is lost or doubled."""
    journal = tmp_path / "journal"
    migrate.up(postgres_url)
    acknowledged = _kill_under_load(postgres_url, journal, 0)
    postgres_server.stop()
    try:
        acknowledged |= _kill_under_load(postgres_url, journal, 1)
        acknowledged |= _kill_under_load(postgres_url, journal, 2)
    finally:
        postgres_server.start()
    acknowledged |= _kill_under_load(postgres_url, journal, 3)
    _assert_all_stored(postgres_url, journal, acknowledged)
