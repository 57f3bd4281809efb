"""What the gate expects: that what is left of a result serves in its call, after it, or elsewhere."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from pinch_server.core.extraction.candidate_gate import Gate
from pinch_server.core.extraction.economics import REUSES_SEEN, Against
from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.decide import CallContext, Decided
from pinch_server.extract.policy import ExtractionPolicy
from tests.core.builders import user
from tests.extract.sessions import NO_CACHE, POLICY, Scripted, later, replica, session

CHAT = session(5)
"""Its last call goes over the budget, and is the first to."""
GATED = replace(POLICY, has_gate=True)
DEFERRED = replace(GATED, is_inline=False)
TOLD = CallContext(cache=CacheContext(state=CacheState.NONE, further_calls=10))


def savings(decided: Decided, *, is_trimmed: bool) -> list[float]:
    """What was expected of each weighed result that the call sends trimmed, or whole."""
    places = {edit.message for edit in decided.edits}
    weighed = [told for told in decided.considering if told.content_class]
    return [told.saving_usd for told in weighed if (told.message in places) is is_trimmed]


def test_a_filter_behind_the_reply_saves_nothing_in_its_session(engine: Engine) -> None:
    """A new trim goes out as an excerpt for good where filters are deferred, so none is written for it."""
    with replica(engine, DEFERRED) as running:
        # What nobody knows yet is found out by two calls that need not pay.
        for number in range(3):
            decided = running.call([user(f"session {number}"), *session(5, name=f"r{number}")[1:]])
            assert running.filtering.idle(60)
        assert savings(decided, is_trimmed=True)
        assert set(savings(decided, is_trimmed=True)) == {0.0}
        gates = {told.gate for told in decided.considering if told.content_class and not told.saving_usd}
    assert gates == {Gate.ECONOMIC}


def test_what_is_still_whole_saves_from_its_trim_on(engine: Engine) -> None:
    """A result that waits for its trim is expected to save in each later call, and not in this one."""
    with replica(engine, DEFERRED) as running:
        deferred = running.call(CHAT[:9], context=TOLD)
    with replica(engine, GATED) as running:
        inline = running.call(CHAT[:9], context=TOLD)
    assert savings(deferred, is_trimmed=False) == savings(inline, is_trimmed=False) != []


def test_a_filter_before_the_reply_saves_in_it_too(engine: Engine) -> None:
    """Inline, a new trim counts for this call and for those that follow."""
    with replica(engine, GATED) as running:
        decided = running.call(CHAT, context=TOLD)
    told = [one for one in decided.considering if one.content_class and one.message in texts_of(decided)]
    assert told
    for one in told:
        assert one.saving_usd == one.tokens * one.removed_share * 11 * 3.0 / 1e6


def texts_of(decided: Decided) -> set[int]:
    return {edit.message for edit in decided.edits}


@pytest.mark.parametrize("mode", [GATED, DEFERRED], ids=["inline", "deferred"])
def test_what_the_bill_changes_by_may_be_what_counts(engine: Engine, mode: ExtractionPolicy) -> None:
    """Held against the excerpt, a result saves a share of that: of what is sent otherwise, or will be."""
    whole, excerpt = (replace(mode, against=against, fingerprint=against) for against in Against)
    told = []
    for policy in (whole, excerpt):
        with replica(engine, policy, Scripted(fault="429")) as running:
            told.append(running.call(CHAT, context=TOLD))
            assert running.filtering.idle(60)
    elided = {edit.message: edit.tokens_after for edit in told[1].edits}
    weighed = [one for one in told[1].considering if one.content_class]
    assert weighed
    for one in weighed:
        left = elided.get(one.message, one.excerpt_tokens)
        assert one.excerpt_tokens == left < one.tokens
        assert one.removed_share * one.tokens == pytest.approx(0.12 * left, rel=0.01)
    shares = {one.message: one.removed_share for one in told[0].considering if one.content_class}
    assert all(shares[one.message] > one.removed_share for one in weighed)


def test_what_texts_are_shorter_than_excerpts_is_learned(engine: Engine) -> None:
    """Texts that were written say by what share of the excerpts in their place they are shorter."""
    with replica(engine, GATED) as running:
        decided = running.call(CHAT, context=TOLD)
        assert running.filtering.idle(60)
        learned = running.filtering.learned
    assert any(edit.is_extracted for edit in decided.edits)
    assert 0 < learned.beyond_tokens < learned.excerpt_tokens


def test_other_sessions_count_where_they_had_the_content(engine: Engine) -> None:
    """A new trim of a content that another session has too is expected in six more calls."""
    with replica(engine, DEFERRED, Scripted(fault="429")) as running:
        first = running.call(CHAT)
        assert running.filtering.idle(60)
        other = running.call([user("another session about a handler"), *CHAT[1:]])
        assert running.filtering.idle(60)
    told = [
        {one.reuses for one in call.considering if one.content_class and one.message in texts_of(call)}
        for call in (first, other)
    ]
    assert told == [{0}, {REUSES_SEEN}]


def test_trims_that_are_repeated_are_expected_to_be(engine: Engine) -> None:
    """How often trims were sent again is what the next ones are expected to be."""
    with replica(engine, GATED) as running:
        first = running.call(CHAT)
        trims = len(first.edits)
        assert running.filtering.learned.trims == trims
        for _ in range(3):
            running.call(later(CHAT), context=NO_CACHE)
        running.call(CHAT, dry_run=True)
        learned = running.filtering.learned
    assert learned.repeats >= 3 * trims
    assert learned.mean_repeats == (20 * 12 + learned.repeats) / (20 + learned.trims)
