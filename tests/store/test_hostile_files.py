"""Files that were damaged, deleted or replaced under the store: what was acknowledged is not lost."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, text

from pinch_server.store import migrate
from pinch_server.store.drain import Pace
from pinch_server.store.engine import open_engine, writing
from pinch_server.store.journal import Journal
from pinch_server.store.recorder import JournalRecorder
from pinch_server.store.tables import prune_decisions
from tests.store.samples import CountingObserver, a_decision, an_id, an_outcome

_PACE = Pace(batch_rows=100, gather_seconds=0.0, housekeeping_seconds=0.05, last_retry_seconds=0.2)
_PATIENCE = 60.0


def _ids(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return set(connection.execute(select(prune_decisions.c.decision_id)).scalars())


@contextmanager
def _recording(state: Path, observer: CountingObserver) -> Iterator[tuple[Engine, JournalRecorder]]:
    url = f"sqlite:///{state}/pinch.sqlite3"
    migrate.up(url)
    engine = open_engine(url)
    recorder = JournalRecorder(engine, state / "journal", observer, max_bytes=1024 * 1024, pace=_PACE)
    try:
        yield engine, recorder
    finally:
        recorder.close()
        engine.dispose()


def _left_behind(directory: Path, count: int) -> Path:
    """The journal of a worker that is gone."""
    dead = Journal(directory, max_bytes=1024 * 1024)
    for number in range(count):
        assert dead.append(a_decision(number))
    dead.close()
    (path,) = directory.glob("*.journal")
    return path


def _drained(directory: Path) -> tuple[list[str], int]:
    """The ids that an heir gets out of a directory, and how many lines it counted as damaged."""
    heir, found, damaged = Journal(directory, max_bytes=1024 * 1024), [], 0
    heir.adopt()
    while batch := heir.next_batch(7):
        found += [decision.decision_id for decision in batch.decisions]
        damaged += batch.damaged
        heir.confirm(batch)
    assert heir.pending == 0
    heir.close()
    return found, damaged


@pytest.mark.parametrize("place", range(16))
def test_one_damaged_byte_of_the_header_costs_no_record(tmp_path: Path, place: int) -> None:
    """Whichever byte of the first line is wrong, all records are drained, and the damage is counted.

    Only another digit makes it another version's file, which is left alone.
    """
    path = _left_behind(tmp_path, 20)
    contents = bytearray(path.read_bytes())
    contents[place] ^= 0x01
    if contents[:16] == b"pinch-journal 0\n":
        contents[place] = ord("l")
    path.write_bytes(contents)
    assert _drained(tmp_path) == ([an_id(number) for number in range(20)], 1)
    assert [left.name for left in tmp_path.iterdir()] == [f"{path.name}.damaged"]


def test_a_header_that_lost_a_byte_costs_no_record(tmp_path: Path) -> None:
    """The records are found behind the first line however long that has become."""
    path = _left_behind(tmp_path, 3)
    path.write_bytes(path.read_bytes()[1:])
    assert _drained(tmp_path)[0] == [an_id(number) for number in range(3)]


def test_what_is_no_file_does_not_stop_the_adoption(tmp_path: Path) -> None:
    """A directory, a pipe or a dangling link among the journals is left alone; the journals are adopted."""
    _left_behind(tmp_path, 5)
    (tmp_path / "zzzz.journal").mkdir()
    os.mkfifo(tmp_path / "zzzy.journal")
    os.mkfifo(tmp_path / "zzzx.unborn")
    (tmp_path / "zzzw.journal").symlink_to(tmp_path / "nowhere")
    assert _drained(tmp_path)[0] == [an_id(number) for number in range(5)]
    assert len(list(tmp_path.iterdir())) == 4


def test_a_journal_that_was_deleted_is_not_written_to(tmp_path: Path) -> None:
    """What is acknowledged after the directory was removed is in a file that a next worker finds."""
    journal = Journal(tmp_path / "state" / "journal", max_bytes=1024 * 1024)
    assert journal.append(a_decision(1))
    shutil.rmtree(tmp_path / "state")
    assert journal.append(a_decision(2))
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    journal.close()
    assert _drained(tmp_path / "state" / "journal")[0] == [an_id(2)]


@pytest.mark.parametrize("companions", [True, False])
def test_a_database_file_that_was_deleted_is_made_again(
    tmp_path: Path, observer: CountingObserver, companions: bool
) -> None:
    """Decisions recorded after the file lost its name are in the file that has the name then."""
    with _recording(tmp_path, observer) as (engine, recorder):
        assert all(recorder.record(a_decision(number)) for number in range(10))
        assert recorder.flush(_PATIENCE)
        for file in tmp_path.glob("pinch.sqlite3*" if companions else "pinch.sqlite3"):
            file.unlink()
        assert all(recorder.record(a_decision(number)) for number in range(10, 20))
        assert recorder.flush(_PATIENCE)
        assert _ids(engine) == {an_id(number) for number in range(10, 20)}
    again = open_engine(f"sqlite:///{tmp_path}/pinch.sqlite3")
    assert _ids(again) == {an_id(number) for number in range(10, 20)}
    again.dispose()


def test_a_state_directory_that_was_deleted_is_made_again(tmp_path: Path, observer: CountingObserver) -> None:
    """Decisions recorded after the whole directory was removed are stored in a new one, its owner's alone."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    with _recording(state, observer) as (_, recorder):
        assert recorder.record(a_decision(1))
        assert recorder.flush(_PATIENCE)
        shutil.rmtree(state)
        assert all(recorder.record(a_decision(number)) for number in range(2, 9))
        assert recorder.flush(_PATIENCE)
    again = open_engine(f"sqlite:///{state}/pinch.sqlite3")
    assert _ids(again) == {an_id(number) for number in range(2, 9)}
    again.dispose()
    assert state.stat().st_mode & 0o077 == 0


def test_a_database_file_that_was_replaced_by_garbage_is_waited_for(
    tmp_path: Path, observer: CountingObserver
) -> None:
    """While the file of the name is no database, decisions wait, and reach the next good one."""
    database = tmp_path / "pinch.sqlite3"
    with _recording(tmp_path, observer) as (engine, recorder):
        assert recorder.record(a_decision(1))
        assert recorder.flush(_PATIENCE)
        garbage = tmp_path / "garbage"
        garbage.write_bytes(b"garbage!" * 512)
        garbage.replace(database)
        assert all(recorder.record(a_decision(number)) for number in range(2, 9))
        assert observer.wait_for("failed", 2)
        assert observer.pending == 7
        assert database.read_bytes() == b"garbage!" * 512
        database.unlink()
        assert recorder.flush(_PATIENCE)
        assert _ids(engine) == {an_id(number) for number in range(2, 9)}


def test_a_database_file_that_was_replaced_by_another_is_not_harmed(
    tmp_path: Path, observer: CountingObserver
) -> None:
    """A good file put in the place of the open one keeps its rows and gets the new ones, and no old log."""
    (tmp_path / "other").mkdir()
    with _recording(tmp_path / "other", observer) as (_, recorder):
        assert all(recorder.record(a_decision(number)) for number in range(100, 400))
        assert recorder.flush(_PATIENCE)
    with _recording(tmp_path, observer) as (engine, recorder):
        assert all(recorder.record(a_decision(number)) for number in range(10))
        assert recorder.flush(_PATIENCE)
        (tmp_path / "other" / "pinch.sqlite3").replace(tmp_path / "pinch.sqlite3")
        assert all(recorder.record(a_decision(number)) for number in range(20, 30))
        assert recorder.flush(_PATIENCE)
        assert _ids(engine) == {an_id(number) for number in (*range(100, 400), *range(20, 30))}
        with engine.connect() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalars().all() == ["ok"]


@pytest.mark.parametrize("rows", [1, 20])
def test_a_schema_that_takes_no_row_is_waited_for(
    engine: Engine, tmp_path: Path, observer: CountingObserver, rows: int
) -> None:
    """When no row of this version can be stored, none is set aside: all are stored once it can be."""
    with writing(engine) as connection:
        connection.execute(
            text("ALTER TABLE prune_decisions ADD COLUMN wanted TEXT CHECK (wanted IS NOT NULL)")
        )
    recorder = JournalRecorder(engine, tmp_path / "journal", observer, max_bytes=1024 * 1024, pace=_PACE)
    assert all(recorder.record(a_decision(number)) for number in range(rows))
    assert recorder.report(an_outcome(0))
    assert observer.wait_for("failed", 3)
    assert [path.suffix for path in (tmp_path / "journal").glob("*.damaged")] == []
    with writing(engine) as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(text("PRAGMA writable_schema = ON"))
            connection.execute(
                text(
                    "UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (wanted IS NOT NULL)', '') "
                    "WHERE name = 'prune_decisions'"
                )
            )
            connection.execute(text("PRAGMA writable_schema = RESET"))
        else:
            connection.execute(text("ALTER TABLE prune_decisions DROP COLUMN wanted"))
    assert recorder.flush(_PATIENCE)
    recorder.close()
    with engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(prune_decisions)).scalar_one() == rows
    assert list((tmp_path / "journal").iterdir()) == []


def test_files_of_the_database_are_their_owners_alone(tmp_path: Path, observer: CountingObserver) -> None:
    """The SQLite file and its companions are made with mode 600, whatever the directory lets others do."""
    before = os.umask(0o022)
    try:
        with _recording(tmp_path, observer) as (_, recorder):
            assert recorder.record(a_decision(1))
            assert recorder.flush(_PATIENCE)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("pinch.sqlite3*")}
    finally:
        os.umask(before)
    assert set(modes) == {"pinch.sqlite3", "pinch.sqlite3-wal", "pinch.sqlite3-shm"}
    assert set(modes.values()) == {0o600}
