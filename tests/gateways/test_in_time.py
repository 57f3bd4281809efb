"""Decisions that are made in time, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from pinch_server.clock import Uuid7Ids
from pinch_server.core.counting import Chars3
from pinch_server.decide import Body, Decided, Decider, InvalidCallError, Lanes, Patience, Policy, PruneCall
from pinch_server.gateways.in_time import InTime, Turn, Untold
from pinch_server.ports import Recorder
from tests.gateways.ports import Held, Stuck
from tests.rpc.conversations import body
from tests.rpc.service import SMALL, Kept
from tests.test_decide import Watched

CALL = PruneCall(Body(body()))


@dataclass
class Hand:
    """A clock that goes on when the test says so."""

    at: float = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.at


@contextmanager
def made(
    recorder: Recorder,
    clock: Hand,
    *,
    counter: Stuck | None = None,
    most: int = 8,
    lanes: Lanes | None = None,
) -> Iterator[InTime]:
    policy = Policy(SMALL, True, "fingerprint", b"key")
    decider = Decider(policy, counter or Chars3(), recorder, Watched(), clock, Uuid7Ids())
    in_time = InTime(decider, lanes or Lanes(clock), clock, 2, most)
    try:
        yield in_time
    finally:
        in_time.close(30)


def decide(turn: Turn) -> Decided:
    return turn.decide(CALL, 10)


def test_a_decision_in_time_is_recorded_and_told() -> None:
    """What is made before the deadline is what the recorder keeps."""
    kept = Kept()
    with made(kept, Hand()) as in_time:
        decided = in_time.begin(decide, 30).result()
    assert isinstance(decided, Decided)
    assert [one.decision_id for one in kept.decisions] == [decided.decision_id]
    assert kept.outcomes == []


def test_a_decision_that_is_late_before_it_is_recorded_leaves_no_row() -> None:
    """When nobody waits any more, nothing is recorded and nothing reported."""
    kept, clock, stuck = Kept(), Hand(), Stuck()
    with made(kept, clock, counter=stuck) as in_time:
        running = in_time.begin(decide, 30)
        assert stuck.reached.wait(30)
        clock.at = 31
        assert running.result() is Untold.LATE
        stuck.let_go.set()
    assert kept.decisions == []
    assert kept.outcomes == []


def test_a_decision_that_is_late_while_it_is_recorded_is_taken_back() -> None:
    """A decision whose recording outlasts the deadline is reported as REJECTED: nobody sent what it made."""
    held, clock = Held(), Hand()
    with made(held, clock) as in_time:
        running = in_time.begin(decide, 30)
        assert held.reached.wait(30)
        clock.at = 31
        assert running.result() is Untold.LATE
        held.let_go.set()
    (decision,), (outcome,) = held.kept.decisions, held.kept.outcomes
    assert (outcome.decision_id, outcome.outcome) == (decision.decision_id, "REJECTED")


def test_an_answer_that_cannot_be_made_takes_its_decision_back(caplog: pytest.LogCaptureFixture) -> None:
    """When work fails after the decision, the request goes on as it came, and the row says so."""
    kept = Kept()

    def fails(turn: Turn) -> None:
        turn.decide(CALL, 10)
        raise RuntimeError("with words of the conversation")

    with made(kept, Hand()) as in_time:
        assert in_time.begin(fails, 30).result() is Untold.FAILED
    assert [one.outcome for one in kept.outcomes] == ["REJECTED"]
    assert "RuntimeError" in caplog.text
    assert "words of the conversation" not in caplog.text


def test_a_large_one_that_would_be_late_behind_others_is_not_worked_on() -> None:
    """Where those before it leave no time, a gateway's request goes on as it came, unrecorded."""
    kept, clock = Kept(), Hand()
    lanes = Lanes(clock)
    with lanes.place(100_000, Patience()):
        clock.at += 100
    large = PruneCall(Body(b'{"messages":[{"role":"user","content":"%s"}]}' % (b"x" * 100_000)))
    with made(kept, clock, lanes=lanes) as in_time:
        with lanes.place(100_000, Patience()):
            assert in_time.begin(lambda turn: turn.decide(large, 100_000), 30).result() is Untold.OVERLOADED
            assert isinstance(in_time.begin(decide, 30).result(), Decided)
        assert isinstance(in_time.begin(lambda turn: turn.decide(large, 100_000), 30).result(), Decided)
    assert len(kept.decisions) == 2


def test_a_callers_fault_is_told() -> None:
    """What breaks the contract of a call is raised to whoever waits."""
    with made(Kept(), Hand()) as in_time, pytest.raises(InvalidCallError, match="budget_tokens"):
        in_time.begin(
            lambda turn: turn.decide(PruneCall(Body(body()), {"budget_tokens": 0}), 10), 30
        ).result()


def test_nothing_is_begun_after_the_end() -> None:
    """A service that stops decides nothing more, and answers."""
    kept = Kept()
    with made(kept, Hand()) as in_time:
        in_time.close(1)
        assert in_time.begin(decide, 30).result() is Untold.OVERLOADED
    assert kept.decisions == []
