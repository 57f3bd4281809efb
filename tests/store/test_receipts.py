"""Receipts: what is kept of each trim, and for how long."""

import json
from typing import Any

from sqlalchemy import Engine, func, select, update

from pinch_server.core.decision import Trim
from pinch_server.store import decisions, retention
from pinch_server.store.engine import writing
from pinch_server.store.lines import encode_record, parse_lines
from pinch_server.store.tables import decision_trims
from pinch_server.store.writer import DecisionWriter
from tests.store.samples import NOW, CountingObserver, a_decision, an_id

TRIMS = (
    Trim(3, None, None, "bash", "elided", "outside_window", True, 12, 9_000, 800, 3_000, 266),
    Trim(5, 1, 0, "", "omitted", "outsized", False, 7, 0, 40, 1_100, 13),
    Trim(7, None, None, "ls", "elided", "outside_window", True, 12, 9_000, 700, 3_000, 230, True),
)


def test_a_receipt_comes_back_as_it_was_written(engine: Engine, observer: CountingObserver) -> None:
    """Through journal and database, every field of every trim is what it was; without trims there is none."""
    given = [a_decision(1, trims=TRIMS, trimmed_tools="bash 1"), a_decision(2, session_hash=None)]
    read = parse_lines(b"".join(map(encode_record, given)), 10).records
    assert read == tuple(given)
    writer = DecisionWriter(engine, observer)
    for _ in range(2):
        # What a journal offers again changes nothing.
        writer.write(given, [], NOW)
    for one in given:
        found = decisions.get(engine, one.decision_id)
        assert found is not None
        assert found.decision == one


def test_a_receipt_goes_with_its_decision(engine: Engine, observer: CountingObserver) -> None:
    """When a decision is past its time, its receipt goes in the same step."""
    given = [a_decision(1, trims=TRIMS), a_decision(2, trims=TRIMS, created_at=NOW + 10)]
    DecisionWriter(engine, observer).write(given, [], NOW)
    assert retention.delete_batch(engine, NOW + 5) == 1
    with engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(decision_trims)).scalar_one() == 1
    kept = decisions.get(engine, an_id(2))
    assert kept is not None
    assert kept.decision.trims == TRIMS


def test_a_decision_that_repeats_is_told_by_the_receipt_before(
    engine: Engine, observer: CountingObserver
) -> None:
    """Without a receipt of its own it has its session's last one, if their counts agree; no trim as new."""
    first = a_decision(1, trims=TRIMS)
    differing: tuple[dict[str, Any], ...] = (
        {},
        {"elided": 77},
        {"session_hash": "f" * 32},
        {"tenant_hash": "b1ue"},
    )
    others = [
        a_decision(number, created_at=NOW + number, **given)
        for number, given in enumerate(differing, start=2)
    ]
    DecisionWriter(engine, observer).write([first, *others], [], NOW)
    found = [decisions.get(engine, one.decision_id) for one in others]
    told = [one.decision.trims for one in found if one is not None]
    assert told == [tuple(trim._replace(is_new=False) for trim in TRIMS), (), (), ()]


def test_the_receipt_before_is_its_tenants(engine: Engine, observer: CountingObserver) -> None:
    """Of two tenants whose sessions have one name, each has the receipt of its own last call."""
    given = [
        a_decision(1, trims=TRIMS[:1], tenant_hash="b1ue"),
        a_decision(2, trims=TRIMS, created_at=NOW + 2),
        a_decision(3, created_at=NOW + 3, tenant_hash="b1ue"),
    ]
    DecisionWriter(engine, observer).write(given, [], NOW)
    found = decisions.get(engine, an_id(3))
    assert found is not None
    assert found.decision.trims == (TRIMS[0]._replace(is_new=False),)


def test_a_receipt_of_before_extraction_can_be_read(engine: Engine, observer: CountingObserver) -> None:
    """A line that says nothing of extraction is one of a result that was not extracted."""
    DecisionWriter(engine, observer).write([a_decision(1, trims=TRIMS[:1])], [], NOW)
    short = json.dumps([list(TRIMS[0])[:-1]])
    with writing(engine) as connection:
        connection.execute(update(decision_trims).values(trims=short))
    found = decisions.get(engine, an_id(1))
    assert found is not None
    assert found.decision.trims == TRIMS[:1]
