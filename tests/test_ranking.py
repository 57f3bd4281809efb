"""What the use case asks of an embedder: one round trip a call, and nothing about the past."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import Chars3
from pinch_server.core.embedding import Fault, Unavailable, Vectors
from pinch_server.core.limits import Limits, Stability
from pinch_server.core.plan import Ranking
from pinch_server.core.scoring import Scoring
from pinch_server.decide import Body, Decided, Decider, Patience, Policy, PruneCall, Ranker, RankingPolicy
from pinch_server.decide.ranking import NO_EMBEDDER, PAST_VECTORS_MISSING
from pinch_server.decide.terms import RecentTerms
from pinch_server.ports import WhenGone
from tests.rpc.conversations import body, messages
from tests.rpc.service import SMALL, Kept
from tests.test_decide import Watched

REPLAY = replace(SMALL, stability=Stability.REPLAY, budget_tokens=6_000, target_tokens=4_000)


@dataclass
class Remote:
    """An embedder that knows what it was asked, and forgets when told to."""

    is_local: bool = False
    fault: Fault | None = None
    asked: list[tuple[int, float]] = field(default_factory=list)
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def embed(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None = None
    ) -> Vectors | Unavailable:
        del when_gone
        self.asked.append((len(texts), seconds))
        if self.fault is not None:
            return Unavailable(self.fault)
        for text in texts:
            self.known[text] = np.array([len(text) % 7, 1.0, len(set(text))], dtype=np.float32)
        return Vectors(np.stack([self.known[text] for text in texts]))

    def recall(self, texts: Sequence[str]) -> tuple[NDArray[np.float32] | None, ...]:
        return tuple(self.known.get(text) for text in texts)

    def close(self) -> None:
        self.known.clear()


def decider(
    embedder: Remote | None, scoring: Scoring = Scoring.HYBRID, watched: Watched | None = None
) -> Decider:
    clock = SystemClock()
    policy = Policy(Limits(), True, "fingerprint", b"key")
    ranker = Ranker(clock, RankingPolicy(scoring), embedder)
    return Decider(policy, Chars3(), Kept(), watched or Watched(), clock, Uuid7Ids(), ranker)


def ask(chosen: Decider, results: int, limits: Limits = REPLAY, patience: Patience = Patience()) -> Decided:  # noqa: B008
    given: dict[str, Any] = {"budget_tokens": limits.budget_tokens, "target_tokens": limits.target_tokens}
    given |= {"stability": limits.stability, "trim_style": limits.trim_style, "min_gain": limits.min_gain}
    given |= {"keep_last_turns": limits.keep_last_turns, "keep_last_rounds": limits.keep_last_rounds}
    return chosen.decide(PruneCall(Body(body(messages(results))), limits=given), patience)


def test_a_call_makes_one_round_trip_whatever_its_stages() -> None:
    """Candidates outside the window and those that its contraction releases are embedded together."""
    embedder = Remote()
    limits = replace(SMALL, keep_last_turns=3, keep_last_rounds=1)
    answer = ask(decider(embedder), 8, limits)
    assert answer.stats.ranking is Ranking.HYBRID
    assert len(embedder.asked) == 1


def test_vectors_of_the_past_are_never_asked_for() -> None:
    """A replica without the vectors of an earlier event ranks it by words, says so, and asks nothing."""
    embedder = Remote()
    warm = decider(embedder)
    for results in range(4, 10):
        ask(warm, results)
    asked = len(embedder.asked)
    assert asked
    other = Remote()
    answer = ask(decider(other), 9)
    assert answer.stats.ranking_reason == PAST_VECTORS_MISSING
    assert len(other.asked) <= 1
    assert ask(warm, 9).edits
    assert len(embedder.asked) <= asked + 1


def test_a_plan_made_without_vectors_is_not_gone_on_from() -> None:
    """Once the endpoint answers again, the plan is the one that it would always have been."""
    embedder = Remote(fault=Fault.TIMEOUT)
    chosen = decider(embedder)
    first = ask(chosen, 8)
    assert (first.stats.ranking, first.stats.ranking_reason) == (Ranking.LEXICAL, Fault.TIMEOUT)
    embedder.fault = None
    fresh = Remote(known=embedder.known)
    assert ask(chosen, 8).edits == ask(decider(fresh), 8).edits


def test_a_call_that_comes_again_needs_the_endpoint_no_more() -> None:
    """A plan that had its vectors stands when its call comes again, though the endpoint is down by then."""
    embedder = Remote()
    chosen = decider(embedder)
    first = ask(chosen, 8, SMALL)
    assert (first.stats.ranking, first.stats.ranking_reason) == (Ranking.HYBRID, "")
    asked = len(embedder.asked)
    embedder.fault = Fault.TIMEOUT
    again = ask(chosen, 8, SMALL)
    assert (again.edits, again.stats) == (first.edits, first.stats)
    assert len(embedder.asked) == asked
    assert ask(chosen, 8, replace(SMALL, budget_tokens=1_999)).stats.ranking_reason == Fault.TIMEOUT


@pytest.mark.parametrize("limits", [SMALL, REPLAY], ids=["per call", "replay"])
@pytest.mark.parametrize("scoring", [Scoring.HYBRID, Scoring.COSINE])
def test_where_nobody_embeds_a_call_that_comes_again_is_not_planned_again(
    limits: Limits, scoring: Scoring
) -> None:
    """No vector can come that would change the plan: it is ranked once, and stands as it was told."""
    watched = Watched()
    chosen = decider(None, scoring, watched)
    first = ask(chosen, 9, limits)
    assert first.byte_edits
    assert first.stats.ranking_reason == NO_EMBEDDER
    again = ask(chosen, 9, limits)
    assert watched.stages.count("rank") == 1
    assert again.edits is first.edits
    assert (again.byte_edits, again.stats) == (first.byte_edits, first.stats)


def test_an_embedder_that_is_down_leaves_no_plan() -> None:
    """The same call is planned again while vectors may come that change it."""
    watched = Watched()
    chosen = decider(Remote(fault=Fault.TIMEOUT), watched=watched)
    assert [ask(chosen, 8, SMALL).stats.ranking_reason for _ in range(2)] == [Fault.TIMEOUT] * 2
    assert watched.stages.count("rank") == 2


def test_the_past_is_embedded_again_where_that_gives_the_same() -> None:
    """With the model in the process, a worker that has just started plans as one that has seen it all."""
    warm = decider(Remote(is_local=True))
    for results in range(4, 10):
        last = ask(warm, results)
    assert ask(decider(Remote(is_local=True)), 9).byte_edits == last.byte_edits


def test_embedding_gets_the_callers_time_less_a_reserve() -> None:
    """The time for embedding is that of the setting, or what the caller has left less what the rest takes."""
    for left, most in ((None, 10.0), (100.0, 10.0), (1.0, 0.75), (0.04, 0.0)):
        embedder = Remote()
        ask(decider(embedder), 8, SMALL, Patience(left))
        ((_, seconds),) = embedder.asked
        assert seconds <= most


def test_words_are_read_once_and_bounded() -> None:
    """The words of a text are kept while there is room, and the oldest go first."""
    terms = RecentTerms(most_words=20)
    first = terms.of("one two three")
    assert terms.of("one two three") is first
    terms.of("four five six seven eight nine ten")
    terms.of("alpha beta gamma delta epsilon")
    assert terms.of("one two three") is not first
