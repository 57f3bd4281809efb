"""The thread that adds up and forgets, while others write."""

import threading
from pathlib import Path

from sqlalchemy import Engine, func, insert, select, text

from pinch_server.store.engine import open_engine, writing
from pinch_server.store.periods import DAY, HOUR, Layout, Run, lay_out
from pinch_server.store.recorder import JournalRecorder
from pinch_server.store.tables import (
    embedding_vectors,
    extraction_forms,
    extraction_texts,
    originals,
    prune_decisions,
    savings_periods,
)
from pinch_server.store.upkeep import Upkeep
from pinch_server.store.writer import DecisionWriter
from tests.store.samples import NOW, CountingObserver, a_decision


def upkeep(engine: Engine, observer: CountingObserver, *, days: int = 3) -> Upkeep:
    return Upkeep(
        engine,
        observer,
        grace_seconds=300.0,
        retention_days=days,
        every_seconds=0.05,
        pause_seconds=0.0,
        now=lambda: NOW / 1e6,
    )


def oldest(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.min(prune_decisions.c.created_at))).scalar_one()


def count(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(prune_decisions)).scalar_one()


def test_a_round_forgets_what_is_old_and_adds_up_the_rest(engine: Engine, observer: CountingObserver) -> None:
    """After one round only decisions within their time are there, and their settled hours are added up."""
    writer = DecisionWriter(engine, observer)
    writer.write([a_decision(each, created_at=NOW - each * HOUR) for each in range(100)], [], NOW)
    upkeep(engine, observer).round()
    assert oldest(engine) == NOW - 72 * HOUR
    with engine.connect() as connection:
        added = connection.execute(select(func.count()).select_from(savings_periods)).scalar_one()
    assert added >= 71


def test_vectors_past_their_time_are_forgotten(engine: Engine, observer: CountingObserver) -> None:
    """Vectors go as decisions do, whether or not an endpoint is still asked for new ones."""
    rows = [
        {"key": number.to_bytes(4), "vector": b"\0\0", "created_at": NOW - age}
        for number, age in enumerate([3 * DAY + 1] * 1_100 + [3 * DAY, 0])
    ]
    with writing(engine) as connection:
        connection.execute(insert(embedding_vectors), rows)
    upkeep(engine, observer, days=0).round()
    upkeep(engine, observer).round()
    with engine.connect() as connection:
        left = connection.execute(select(embedding_vectors.c.created_at)).scalars().all()
    assert sorted(left) == [NOW - 3 * DAY, NOW]


def test_nothing_is_forgotten_when_it_is_kept_for_ever(engine: Engine, observer: CountingObserver) -> None:
    """With no time set the oldest decision stays."""
    DecisionWriter(engine, observer).write([a_decision(1, created_at=NOW - 399 * DAY)], [], NOW)
    work = upkeep(engine, observer, days=0)
    work.start()
    work.close()
    assert oldest(engine) == NOW - 399 * DAY


def test_decisions_are_written_while_old_ones_go(
    engine: Engine, observer: CountingObserver, tmp_path: Path
) -> None:
    """A recorder stores all of its decisions while thousands of old ones are being deleted."""
    DecisionWriter(engine, observer).write(
        [a_decision(number, created_at=NOW - 9 * DAY) for number in range(5_000)], [], NOW
    )
    recorder = JournalRecorder(
        engine, tmp_path / "journal", observer, max_bytes=16 * 1024 * 1024, close_seconds=60.0
    )
    work = upkeep(engine, observer)
    work.start()
    for number in range(5_000, 5_500):
        assert recorder.record(a_decision(number))
    assert recorder.flush(60)
    work.round()
    work.close()
    recorder.close()
    assert count(engine) == 500
    assert observer.counts["stored"] == 5_500
    assert observer.counts["failed"] == 0


def test_a_database_out_of_order_is_counted_and_tried_again(tmp_path: Path) -> None:
    """A failed round costs the service nothing, and the next one does its work."""
    observer = CountingObserver()
    engine = open_engine(f"sqlite:///{tmp_path}/pinch.sqlite3")
    work = upkeep(engine, observer)
    work.start()
    assert observer.wait_for("failed", 2)
    work.close()
    with writing(engine) as connection:
        connection.execute(text("SELECT 1"))
    engine.dispose()


def test_closing_waits_for_no_round(engine: Engine, observer: CountingObserver) -> None:
    """A round in its middle ends at the next transaction once it is told to."""
    DecisionWriter(engine, observer).write([a_decision(1, created_at=NOW - 300 * DAY)], [], NOW)
    work = upkeep(engine, observer, days=0)
    work.start()
    work.close(30)
    assert not [thread for thread in threading.enumerate() if thread.name == "pinch-upkeep"]


def test_a_window_is_laid_out_with_days_then_hours_then_decisions() -> None:
    """Whole days inside the window first, hours beside them, and what is left is read from the decisions."""
    start, end = 10 * DAY - 90 * 60_000_000, 12 * DAY + HOUR + 5
    hours = {10 * DAY - HOUR, *(12 * DAY + each * HOUR for each in range(-24, 3))}
    found = lay_out(start, end, {10 * DAY}, hours)
    assert found == Layout(
        runs=(
            Run(HOUR, 10 * DAY - HOUR, 10 * DAY),
            Run(DAY, 10 * DAY, 11 * DAY),
            Run(HOUR, 11 * DAY, 12 * DAY + HOUR),
        ),
        gaps=((start, 10 * DAY - HOUR), (12 * DAY + HOUR, end)),
    )
    assert lay_out(5, 5, set(), set()) == Layout((), ())
    assert lay_out(0, 3 * HOUR, set(), set()) == Layout((), ((0, 3 * HOUR),))


def test_what_extraction_and_originals_leave_is_forgotten_in_time(
    engine: Engine, observer: CountingObserver
) -> None:
    """Texts of filters, forms and originals each go after their own time, whatever decisions have."""
    with writing(engine) as connection:
        for number, age in enumerate([2 * DAY + 1, 2 * DAY, 0]):
            key = bytes([number])
            connection.execute(
                insert(extraction_texts), {"key": key, "text": "t", "reason": "r", "used_at": NOW - age}
            )
            connection.execute(insert(extraction_forms), {"key": key, "text": None, "created_at": NOW - age})
            sealed = {"key": key, "sealed": b"s", "size": 1, "created_at": NOW - age // 1_000}
            connection.execute(insert(originals), sealed)
    Upkeep(
        engine,
        observer,
        grace_seconds=300.0,
        retention_days=0,
        extracted_days=2,
        originals_seconds=100,
        now=lambda: NOW / 1e6,
    ).round()
    with engine.connect() as connection:
        ages = [
            sorted(connection.execute(select(age)).scalars())
            for age in (extraction_texts.c.used_at, extraction_forms.c.created_at, originals.c.created_at)
        ]
    assert ages == [[NOW - 2 * DAY, NOW], [NOW - 2 * DAY, NOW], [NOW]]
