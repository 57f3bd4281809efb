"""What a caller says of prices and of the cache goes into the reply's economics, and never into the plan."""

import pytest

from bench.corpus import conversations
from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import Chars3
from pinch_server.core.limits import Limits, Trigger
from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.decide import Body, CallContext, Decider, Policy, PruneCall
from tests.rpc.service import Kept
from tests.test_decide import Watched

NO_CACHE = CacheContext(state=CacheState.NONE, further_calls=0)
SAID = [
    CallContext(),
    CallContext(prompt_rate="3", cached_rate="0.3", cache_write_rate="3.75"),
    CallContext(prompt_rate="0.28", cached_rate="0.028", cache=CacheContext(state=CacheState.COLD)),
    CallContext(
        prompt_rate="3", cached_rate="2.9", cache=CacheContext(state=CacheState.NONE, further_calls=0)
    ),
    CallContext(prompt_rate="3", cached_rate="0.01", cache=CacheContext(further_calls=10_000)),
]


@pytest.mark.parametrize("trigger", Trigger)
def test_rates_and_cache_never_change_the_plan(trigger: Trigger) -> None:
    """Over real sessions every plan is the same bytes, whatever the caller says; only its worth differs."""
    found = list(conversations())[::12]
    if not found:
        pytest.skip("the corpus is not here")
    limits = Limits(budget_tokens=25_000, trigger=trigger)
    policy = Policy(limits, is_enabled=True, fingerprint="f", session_key=b"key")
    trimmed = 0
    for one in found:
        answers = [
            Decider(policy, Chars3(), Kept(), Watched(), SystemClock(), Uuid7Ids()).decide(
                PruneCall(Body(one.body, one.format), context=said)
            )
            for said in SAID
        ]
        assert len({answer.byte_edits for answer in answers}) == 1, one.name
        assert len({answer.stats for answer in answers}) == 1, one.name
        assert [answer.economics is None for answer in answers] == [True, False, False, False, False]
        if any(edit.is_new for edit in answers[0].edits):
            assert len({answer.economics for answer in answers}) > 2
        trimmed += bool(answers[0].edits)
    assert trimmed > 0
