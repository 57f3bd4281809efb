"""Writing to the database: each decision once, each outcome on its decision, whatever the order."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine, event, func, select

from pinch_server.store import decisions, migrate
from pinch_server.store.decisions import StoredDecision
from pinch_server.store.engine import open_engine
from pinch_server.store.tables import prune_decisions, waiting_outcomes
from pinch_server.store.writer import DecisionWriter
from tests.store.samples import NOW, CountingObserver, a_decision, an_id, an_outcome

_GRACE = 300_000_000


@pytest.fixture
def writer(engine: Engine, observer: CountingObserver) -> DecisionWriter:
    """A writer to a database of each kind."""
    return DecisionWriter(engine, observer)


def _waiting(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(waiting_outcomes)).scalar_one()


def test_a_decision_comes_back_as_it_was_written(engine: Engine, writer: DecisionWriter) -> None:
    """Every field of a decision is stored, and it is pending until an outcome is reported."""
    writer.write([a_decision()], [], NOW)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(), None)
    assert decisions.get(engine, an_id(2)) is None
    with engine.connect() as connection:
        assert connection.execute(select(prune_decisions.c.outcome)).scalar_one() == "pending"


def test_a_disabled_decision_has_no_token_figures(engine: Engine, writer: DecisionWriter) -> None:
    """What was not measured is stored as NULL."""
    disabled = a_decision(
        pinch_enabled=False, pinch_original_tokens=None, pinch_final_tokens=None, prompt_rate=None
    )
    writer.write([disabled], [], NOW)
    assert decisions.get(engine, an_id(1)) == StoredDecision(disabled, None)


def test_writing_again_changes_nothing(
    engine: Engine, writer: DecisionWriter, observer: CountingObserver
) -> None:
    """A batch that is written twice is stored and counted once, and keeps its outcome."""
    batch = [a_decision(number) for number in range(300)]
    writer.write(batch[:200], [an_outcome(7)], NOW)
    writer.write(batch, [an_outcome(7)], NOW)
    assert observer.counts == {"stored": 300}
    with engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(prune_decisions)).scalar_one() == 300
    assert decisions.get(engine, an_id(7)) == StoredDecision(a_decision(7), an_outcome(7))


def test_the_latest_report_wins(engine: Engine, writer: DecisionWriter, observer: CountingObserver) -> None:
    """Of several reports the latest is kept in whatever order they come, and a replacement is counted."""
    first = an_outcome(1, outcome="REJECTED")
    second = replace(first, outcome="DISPATCHED", reported_at=first.reported_at + 1)
    third = replace(first, outcome="FAILED", reported_at=first.reported_at + 2)
    writer.write([a_decision()], [first], NOW)
    writer.write([], [third, second], NOW)
    writer.write([], [second], NOW)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(), third)
    assert observer.counts["replaced"] == 1


def test_of_two_reports_of_one_microsecond_the_last_wins(
    engine: Engine, writer: DecisionWriter, observer: CountingObserver
) -> None:
    """A correction counts though a clock gave it the time of what it corrects, in one batch or in two."""
    first = an_outcome(1, outcome="REJECTED")
    last = replace(first, outcome="DISPATCHED")
    writer.write([], [first], NOW)
    writer.write([], [last], NOW)
    writer.write([a_decision(1)], [], NOW)
    writer.settle_waiting(NOW, _GRACE)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(1), last)
    writer.write([], [first], NOW)
    writer.write([], [first], NOW)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(1), first)
    writer.write([], [first, last], NOW)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(1), last)
    assert observer.counts["replaced"] >= 3


def test_a_decision_that_comes_at_the_last_moment_has_its_report(
    postgres_url: str, observer: CountingObserver
) -> None:
    """A report is not given up when its decision comes while others are being given theirs."""
    migrate.up(postgres_url)
    engine, other = open_engine(postgres_url), open_engine(postgres_url)
    late = DecisionWriter(other, CountingObserver())
    writer = DecisionWriter(engine, observer)
    writer.write([], [an_outcome(1), an_outcome(2)], NOW)

    def comes(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("DELETE FROM waiting_outcomes"):
            late.write([a_decision(1)], [], NOW)

    event.listen(engine, "before_cursor_execute", comes)
    writer.settle_waiting(NOW + _GRACE + 1, _GRACE)
    event.remove(engine, "before_cursor_execute", comes)
    assert observer.counts["unmatched"] == 1
    writer.settle_waiting(NOW + _GRACE + 1, _GRACE)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(1), an_outcome(1))
    engine.dispose()
    other.dispose()


def test_reports_of_one_batch_replace_each_other(
    engine: Engine, writer: DecisionWriter, observer: CountingObserver
) -> None:
    """Each different report of a batch that gives way to a later one is counted, a repeated one is not."""
    first = an_outcome(1, outcome="REJECTED")
    again = replace(first, reported_at=first.reported_at + 1)
    last = replace(first, outcome="FAILED", reported_at=first.reported_at + 2)
    other = an_outcome(2)
    writer.write([a_decision(1), a_decision(2)], [first, again, other, last], NOW)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(), last)
    assert observer.counts == {"stored": 2, "replaced": 1}


def test_a_report_that_waited_in_vain_for_first_place_is_counted(
    engine: Engine, writer: DecisionWriter, observer: CountingObserver
) -> None:
    """When a later report meets the decision before the one that waits for it, the replacement is counted."""
    early = an_outcome(1, outcome="FAILED")
    latest = replace(early, outcome="DISPATCHED", reported_at=early.reported_at + 1)
    writer.write([], [early], NOW)
    writer.write([a_decision()], [latest], NOW)
    writer.settle_waiting(NOW, _GRACE)
    writer.settle_waiting(NOW, _GRACE)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(), latest)
    assert observer.counts == {"stored": 1, "replaced": 1}


def test_an_early_report_waits_for_its_decision(
    engine: Engine, writer: DecisionWriter, observer: CountingObserver
) -> None:
    """A report whose decision is in another worker's journal is joined later; one it replaced is counted."""
    early = an_outcome(1, outcome="FAILED")
    latest = replace(early, outcome="DISPATCHED", reported_at=early.reported_at + 1)
    writer.write([], [early], NOW)
    writer.write([], [latest], NOW)
    writer.write([], [early], NOW)
    writer.settle_waiting(NOW + _GRACE, _GRACE)
    assert _waiting(engine) == 1
    writer.write([a_decision()], [], NOW)
    writer.settle_waiting(NOW + _GRACE, _GRACE)
    assert decisions.get(engine, an_id(1)) == StoredDecision(a_decision(), latest)
    assert _waiting(engine) == 0
    assert observer.counts == {"stored": 1, "replaced": 1}


def test_a_report_without_a_decision_is_given_up(
    engine: Engine, writer: DecisionWriter, observer: CountingObserver
) -> None:
    """After the grace period a report that no decision came for is dropped and counted."""
    writer.write([], [an_outcome(1), an_outcome(2)], NOW)
    writer.settle_waiting(NOW + _GRACE + 1, _GRACE)
    assert _waiting(engine) == 0
    assert observer.counts["unmatched"] == 2


def test_values_no_database_takes_are_made_storable(engine: Engine, writer: DecisionWriter) -> None:
    """NUL in a text and numbers beyond 64 bits are changed, so that they hold up nothing behind them."""
    writer.write([a_decision(model="a\x00b", messages=2**70)], [an_outcome(1, prompt_tokens=2**64)], NOW)
    stored = decisions.get(engine, an_id(1))
    assert stored is not None
    assert stored.decision == a_decision(model="a\ufffdb", messages=2**63 - 1)
    assert stored.outcome == an_outcome(1, prompt_tokens=2**63 - 1)
