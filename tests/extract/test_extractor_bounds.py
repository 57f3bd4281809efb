"""What extraction does not send, keep or ask for, whatever a filter left and whatever fires it."""

from dataclasses import replace

from sqlalchemy import Engine, select

from pinch_server.core.extraction.candidate_gate import Gate
from pinch_server.core.extraction.request_gate import FireOn
from pinch_server.core.extraction.slugs import LONGER_THAN_ANY
from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.decide import CallContext, Decided
from pinch_server.extract.consideration import TOO_LONG
from pinch_server.store.tables import extraction_texts
from tests.core.builders import user
from tests.extract.sessions import POLICY, Scripted, replica, session

CHAT = session(5)


def extracted(decided: Decided) -> list[int]:
    return [edit.message for edit in decided.edits if edit.is_extracted]


def test_a_text_longer_than_the_elision_is_not_sent(engine: Engine) -> None:
    """An accepted text that would ship more than the elision is kept for no seat, and the reply says why."""
    with replica(engine, writer=Scripted(filter=lambda job: job.text[: job.aim_chars + 400])) as running:
        decided = running.call(CHAT)
        assert not any(edit.is_extracted for edit in decided.edits)
        told = running.call([user("another turn"), *CHAT[1:]]).considering
    assert TOO_LONG in {one.reason for one in told if one.gate is Gate.REPLAYED_OTHERS}


def test_a_text_longer_than_any_excerpt_is_not_kept(engine: Engine) -> None:
    """What no excerpt leaves room for is a refusal: nothing holds it, and it counts as nothing removed."""
    with replica(engine, writer=Scripted(filter=lambda job: job.text[: len(job.text) - 500])) as running:
        decided = running.call(CHAT)
        assert not any(edit.is_extracted for edit in decided.edits)
        assert running.metric(f'pinch_extraction_filters_total{{filter="{LONGER_THAN_ANY}"}}') > 0
        assert running.filtering.learned.seen_tokens > running.filtering.learned.removed_tokens == 0
    with engine.connect() as connection:
        kept = connection.execute(select(extraction_texts.c.text, extraction_texts.c.reason)).all()
    assert {tuple(row) for row in kept} == {(None, LONGER_THAN_ANY)}


def test_size_passes_over_advice_and_over_no_ban(engine: Engine) -> None:
    """With `fire_on: size` the gate only advises, but not where providers cache, unless that is allowed."""
    warm = CallContext(cache=CacheContext(state=CacheState.WARM))
    rules = replace(POLICY.rules, fire_on=FireOn.SIZE)
    policy = replace(POLICY, rules=rules, has_gate=True)
    with replica(engine, policy) as running:
        told = running.call(CHAT, context=warm).considering
        assert {one.gate for one in told if one.content_class} == {Gate.ECONOMIC}
        assert running.writer.asked == []
    with replica(engine, replace(policy, allows_caching=True)) as running:
        told = running.call([user("another turn"), *CHAT[1:]], context=warm).considering
        assert Gate.ADVISORY in {one.gate for one in told}
        assert running.writer.asked


def test_what_is_frozen_is_sent_where_the_conversation_has_no_words(engine: Engine) -> None:
    """Without a word to go by no filter is written, and what is there is sent all the same."""
    with replica(engine) as running:
        assert extracted(running.call(CHAT))
        assert running.filtering.idle(60)
        before = len(running.writer.asked)
        wordless = running.call([user("a b"), *CHAT[1:]])
        again = running.call([user("a b"), *CHAT[1:]])
        other = running.call([user("a b"), *session(5, name="unseen")[1:]])
        assert running.filtering.idle(60)
        assert len(running.writer.asked) == before
    assert extracted(wordless) == extracted(again) != []
    gates = {one.gate for one in other.considering if one.tokens > 1_000}
    assert gates == {Gate.NO_KEYWORDS, Gate.CACHED_PREFIX}
