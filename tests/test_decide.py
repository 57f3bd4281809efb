"""The use case on its own: what one call leaves in the reply, the row and the metrics."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import COUNTERS, Chars3
from pinch_server.core.decision import Decision
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Ranking
from pinch_server.core.scoring import Scoring
from pinch_server.decide import (
    STORED_CHARS,
    Body,
    CallContext,
    Decided,
    Decider,
    Extracting,
    InvalidCallError,
    Policy,
    PruneCall,
    Ranker,
    RankingPolicy,
    limits_of,
    read_call,
)
from pinch_server.observe.labels import RELEVANCE_OUTCOMES, ROUTES, STAGES
from tests.rpc.conversations import body
from tests.rpc.service import SMALL, Kept

DEEP = b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@dataclass
class Watched:
    """An Observer that keeps everything in lists."""

    decisions: list[dict[str, Any]] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    rankings: list[str] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def decided(self, **facts: Any) -> None:
        self.decisions.append(facts)

    def stage(self, name: str, seconds: float) -> None:
        assert seconds >= 0
        self.stages.append(name)

    def prefix_matched(self, share: float) -> None:
        self.shares.append(share)

    def ranked(self, outcome: str) -> None:
        self.rankings.append(outcome)


class Named:
    """Originals that name every text alike, and keep none."""

    def reference(self, tenant: str, text: str) -> str:
        assert (tenant, bool(text)) == ("", True)
        return "named"

    def keep(self, tenant: str, texts: Sequence[str]) -> None:
        del tenant, texts

    def expand(self, tenant: str, reference: str) -> str | None:
        del tenant, reference
        return None


@dataclass(frozen=True)
class Left:
    """What one call left behind."""

    answer: Decided
    row: Decision
    watched: Watched


def decide(
    call: PruneCall,
    *,
    limits: Limits = SMALL,
    is_enabled: bool = True,
    counting: str = "chars3",
    scoring: Scoring = Scoring.AGE,
    extracting: Extracting | None = None,
) -> Left:
    kept, watched = Kept(), Watched()
    policy = Policy(limits, is_enabled, "fingerprint", b"key")
    clock = SystemClock()
    ranker = Ranker(clock, RankingPolicy(scoring))
    decider = Decider(
        policy, COUNTERS[counting], kept, watched, clock, Uuid7Ids(), ranker, extracting=extracting
    )
    answer = decider.decide(call)
    (row,) = kept.decisions
    return Left(answer, row, watched)


@pytest.mark.parametrize("counting", COUNTERS)
def test_a_body_that_is_not_understood_has_one_size_everywhere(counting: str) -> None:
    """Stats, row, metrics and measured size all give a third of its bytes, and budget_met follows from it."""
    estimate = len(DEEP) // 3
    for budget in (estimate - 1, estimate):
        left = decide(PruneCall(Body(DEEP)), limits=Limits(budget_tokens=budget), counting=counting)
        stats, measured, told = left.answer.stats, left.answer.measured, left.watched.decisions[0]
        assert measured is not None
        assert (measured.method, measured.error_bound) == ("chars3", 1.0)
        assert {
            stats.original_tokens,
            stats.final_tokens,
            measured.tokens,
            left.row.pinch_original_tokens,
            left.row.pinch_final_tokens,
            told["original_tokens"],
            told["final_tokens"],
        } == {estimate}
        is_met = budget >= estimate
        assert stats.budget_met is left.row.budget_met is told["budget_met"] is is_met
        assert left.answer.unchanged_reason == left.row.unchanged_reason == told["result"] == "not_understood"


def test_switched_off_it_counts_and_plans_nothing() -> None:
    """Disabled, the answer has the size that came and its reason; the row has no token figures."""
    left = decide(PruneCall(Body(body())), is_enabled=False)
    enabled = decide(PruneCall(Body(body())))
    stats = left.answer.stats
    assert left.answer.unchanged_reason == "disabled"
    assert stats.original_tokens == stats.final_tokens == enabled.answer.stats.original_tokens
    assert (left.answer.edits, stats.budget_met) == ((), False)
    assert left.answer.measured is not None
    assert left.answer.measured.tokens == stats.original_tokens
    assert (left.row.pinch_original_tokens, left.row.pinch_final_tokens) == (None, None)
    assert (left.row.pinch_enabled, left.row.unchanged_reason) == (False, "disabled")
    assert left.watched.decisions[0]["result"] == "disabled"
    assert left.watched.decisions[0]["final_tokens"] is None


def test_fixed_tokens_count_when_switched_off() -> None:
    """What ships beside the messages is part of the size of a disabled call too."""
    sizes = [
        decide(PruneCall(Body(body()), limits={"extra_fixed_tokens": fixed}), is_enabled=False)
        for fixed in (0, 1_000)
    ]
    first, second = (left.answer.stats.original_tokens for left in sizes)
    assert second - first == 1_000


@pytest.mark.parametrize(
    ("call", "stages"),
    [
        (PruneCall(Body(body())), ["read", "plan", "write", "record"]),
        (PruneCall(Body(body()), dry_run=True), ["read", "plan", "record"]),
        (PruneCall(Body(DEEP)), ["read", "plan", "record"]),
    ],
)
def test_every_stage_is_timed_by_itself(call: PruneCall, stages: list[str]) -> None:
    """A body that changes goes through every stage but ranking, which age does without."""
    assert decide(call).watched.stages == stages
    assert set(stages) <= set(STAGES)


def test_every_stage_label_is_moved() -> None:
    """No stage has a label that no call ever moves."""
    left = decide(PruneCall(Body(body())), scoring=Scoring.LEXICAL, extracting=Extracting(originals=Named()))
    assert tuple(left.watched.stages) == STAGES
    assert {edit.reference for edit in left.answer.edits} == {"named"}


def test_how_candidates_were_ordered_is_counted() -> None:
    """Each decision counts once under the word of its ranking, which is one the metric knows."""
    assert decide(PruneCall(Body(body()))).watched.rankings == ["uniform"]
    assert decide(PruneCall(Body(DEEP))).watched.rankings == ["not_needed"]
    assert {ranking.lower() for ranking in Ranking} == set(RELEVANCE_OUTCOMES)


def test_a_route_that_was_not_told_stays_so() -> None:
    """Without a route, row and metric say unspecified and not that the router chose the model."""
    left = decide(PruneCall(Body(body())))
    assert left.row.route == "UNSPECIFIED"
    assert left.watched.decisions[0]["route"] == "unspecified"
    assert left.watched.decisions[0]["route"] in ROUTES


def test_names_are_cut_before_they_are_stored() -> None:
    """Request id and model of any length are stored as their first 256 characters, empty ones not at all."""
    context = CallContext(request_id="é" * 100_000, model="m" * 100_000, labels={"a": "b"})
    row = decide(PruneCall(Body(body()), context=context)).row
    assert (row.request_id, row.model) == ("é" * STORED_CHARS, "m" * STORED_CHARS)
    bare = decide(PruneCall(Body(body()))).row
    assert (bare.request_id, bare.model) == (None, None)


def test_reading_a_call_tells_everything_at_once() -> None:
    """What was found before, limits, prices and body are refused together, in that order."""
    _, found_before = limits_of({"keep_last_turns": 0}, Limits())
    call = PruneCall(
        Body(b"nope"),
        limits={"budget_tokens": 0},
        context=CallContext(prompt_rate="dear"),
        violations=found_before,
    )
    with pytest.raises(InvalidCallError) as caught:
        read_call(call, Limits())
    assert [one.field for one in caught.value.violations] == [
        "limits.keep_last_turns",
        "limits.budget_tokens",
        "context.rates.prompt",
        "body.json",
    ]


def test_the_byte_estimate_is_the_counters_own() -> None:
    """A third of the bytes is what the plain estimate makes of as many characters."""
    assert Chars3().tokens(len(DEEP)) == len(DEEP) // 3
