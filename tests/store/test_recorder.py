"""The recorder: acknowledged at once, stored soon, unharmed by a database or disk that is out of order."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, text

from pinch_server.store import decisions, migrate
from pinch_server.store.drain import Pace
from pinch_server.store.engine import open_engine, writing
from pinch_server.store.recorder import JournalRecorder
from pinch_server.store.tables import prune_decisions
from tests.services.postgres import PostgresServer
from tests.store.samples import CountingObserver, a_decision, an_id, an_outcome

_PACE = Pace(batch_rows=100, gather_seconds=0.0, housekeeping_seconds=0.05, last_retry_seconds=0.2)
_PATIENCE = 60.0

Opener = Callable[[Engine], JournalRecorder]


@pytest.fixture
def recorder_on(tmp_path: Path, observer: CountingObserver) -> Iterator[Opener]:
    """Open recorders that share one journal directory; they are closed in the end."""
    opened: list[JournalRecorder] = []

    def open_recorder(engine: Engine) -> JournalRecorder:
        opened.append(
            JournalRecorder(
                engine,
                tmp_path / "journal",
                observer,
                max_bytes=1024 * 1024,
                # A drain that is not waited for returns its connection after the engine let go of all others.
                close_seconds=_PATIENCE,
                pace=_PACE,
            )
        )
        return opened[-1]

    yield open_recorder
    for recorder in opened:
        recorder.close()


def _count(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(prune_decisions)).scalar_one()


def test_what_is_recorded_is_in_the_database(
    engine: Engine, recorder_on: Opener, observer: CountingObserver
) -> None:
    """Decisions and outcomes from many threads are all stored, each once."""
    recorder = recorder_on(engine)
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(lambda number: recorder.record(a_decision(number)), range(1000)))
    assert recorder.report(an_outcome(500))
    assert recorder.flush(_PATIENCE)
    assert _count(engine) == observer.counts["stored"] == 1000
    stored = decisions.get(engine, an_id(500))
    assert stored is not None
    assert stored.outcome == an_outcome(500)


def test_closing_flushes(
    engine: Engine, recorder_on: Opener, tmp_path: Path, observer: CountingObserver
) -> None:
    """A clean stop leaves everything in the database, nothing on disk, and takes nothing afterwards."""
    recorder = recorder_on(engine)
    for number in range(500):
        recorder.record(a_decision(number))
    recorder.close()
    assert _count(engine) == 500
    assert list((tmp_path / "journal").iterdir()) == []
    assert observer.pending == 0
    assert not recorder.record(a_decision(501))
    assert observer.counts["dropped"] == 1


def test_a_reported_outcome_reaches_a_decision_of_another_worker(
    engine: Engine, recorder_on: Opener, observer: CountingObserver
) -> None:
    """An outcome reported to another worker, before the decision itself, ends up on it."""
    one, other = recorder_on(engine), recorder_on(engine)
    other.report(an_outcome(1))
    assert other.flush(_PATIENCE)
    one.record(a_decision(1))
    assert one.flush(_PATIENCE)
    assert observer.wait_for("stored", 1)
    one.close()
    other.close()
    closing = recorder_on(engine)
    assert closing.flush(_PATIENCE)
    stored = decisions.get(engine, an_id(1))
    assert stored is not None
    assert stored.outcome == an_outcome(1)


def test_a_database_without_tables_is_waited_for(
    database_url: str, recorder_on: Opener, observer: CountingObserver
) -> None:
    """While the database refuses, decisions are acknowledged and kept; once it takes them, all are stored."""
    engine = open_engine(database_url)
    recorder = recorder_on(engine)
    assert all(recorder.record(a_decision(number)) for number in range(150))
    assert observer.wait_for("failed", 2)
    migrate.up(database_url)
    assert recorder.flush(_PATIENCE)
    assert _count(engine) == 150
    recorder.close()
    engine.dispose()


def test_a_server_that_was_stopped_is_waited_for(
    postgres_server: PostgresServer, postgres_url: str, recorder_on: Opener, observer: CountingObserver
) -> None:
    """PostgreSQL may be killed and started under a running recorder without losing or doubling a decision."""
    migrate.up(postgres_url)
    engine = open_engine(postgres_url)
    recorder = recorder_on(engine)
    assert all(recorder.record(a_decision(number)) for number in range(100))
    assert recorder.flush(_PATIENCE)
    postgres_server.stop()
    try:
        assert all(recorder.record(a_decision(number)) for number in range(100, 200))
        assert observer.wait_for("failed", 2)
        assert observer.pending == 100
    finally:
        postgres_server.start()
    assert recorder.flush(_PATIENCE)
    assert _count(engine) == 200
    recorder.close()
    engine.dispose()


def test_what_a_closed_worker_could_not_store_is_stored_by_the_next(
    database_url: str, recorder_on: Opener, observer: CountingObserver
) -> None:
    """A stop while the database is down keeps the journal, and the next worker brings it home."""
    engine = open_engine(database_url)
    first = recorder_on(engine)
    assert all(first.record(a_decision(number)) for number in range(50))
    first.close()
    assert observer.pending == 50
    migrate.up(database_url)
    second = recorder_on(engine)
    assert second.flush(_PATIENCE)
    assert _count(engine) == 50
    second.close()
    engine.dispose()


def test_a_database_that_hangs_does_not_hold_up_the_stop(tmp_path: Path, observer: CountingObserver) -> None:
    """Closing gives up after its time, refuses what comes then, and what was acknowledged is stored later."""
    url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    migrate.up(url)
    engine = open_engine(url)
    with writing(engine):
        recorder = JournalRecorder(
            engine, tmp_path / "journal", observer, max_bytes=1024 * 1024, close_seconds=0.0, pace=_PACE
        )
        assert recorder.record(a_decision())
        recorder.close()
        assert not recorder.record(a_decision(2))
        assert observer.counts["stored"] == 0
    assert observer.wait_for("stored", 1)
    engine.dispose()


def test_a_row_the_database_will_never_take_holds_up_no_other(
    tmp_path: Path, recorder_on: Opener, observer: CountingObserver
) -> None:
    """A refused row is counted and its journal set aside, while all rows around it are stored."""
    url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    migrate.up(url)
    engine = open_engine(url)
    with writing(engine) as connection:
        connection.execute(
            text(
                "CREATE TRIGGER refuse BEFORE INSERT ON prune_decisions WHEN NEW.model = 'refused' "
                "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
            )
        )
    recorder = recorder_on(engine)
    for number in range(20):
        assert recorder.record(a_decision(number, model="refused" if number == 7 else "taken"))
    assert recorder.flush(_PATIENCE)
    recorder.close()
    assert _count(engine) == 19
    assert observer.counts["failed"] == 1
    assert [path.suffix for path in (tmp_path / "journal").iterdir()] == [".damaged"]
    engine.dispose()


def test_a_directory_out_of_order_costs_only_the_record(
    tmp_path: Path, engine: Engine, recorder_on: Opener, observer: CountingObserver
) -> None:
    """Where no journal can be written, records are refused and counted, and nothing is raised."""
    (tmp_path / "journal").write_text("in the way")
    recorder = recorder_on(engine)
    assert not recorder.record(a_decision())
    assert not recorder.report(an_outcome())
    assert observer.counts["dropped"] == 2
    (tmp_path / "journal").unlink()
    assert recorder.record(a_decision())
    assert recorder.flush(_PATIENCE)
    assert _count(engine) == 1
