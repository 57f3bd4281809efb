"""Extraction in the seat of an elision: frozen before the first trim, never swapped in, alike everywhere."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, text

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import COUNTERS, Chars3
from pinch_server.core.extraction.candidate_gate import Caps, Gate
from pinch_server.core.extraction.considered import Found, Note
from pinch_server.core.extraction.economics import HAIKU
from pinch_server.core.extraction.form import is_extracted
from pinch_server.core.limits import TrimStyle
from pinch_server.core.plan import Action
from pinch_server.core.planning import measure, plan_pruning
from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.decide import CallContext
from pinch_server.extract.program import FaultKind
from pinch_server.extract.prompts.context import ContextMode
from pinch_server.store.engine import writing
from pinch_server.store.originals import DatabaseOriginals
from tests.core.builders import user
from tests.extract.sessions import (
    LIMITS,
    NO_CACHE,
    POLICY,
    Replica,
    Scripted,
    later,
    points,
    pruned,
    replica,
    session,
    texts,
)

CHAT = session(5)
"""Its last call goes over the budget, and is the first to."""
LONG = session(12)
DEFERRED = replace(POLICY, is_inline=False)


@pytest.fixture
def one(engine: Engine) -> Iterator[Replica]:
    with replica(engine) as running:
        yield running


def extracted_edits(edits: object) -> list[int]:
    return [edit.message for edit in edits if edit.is_extracted]  # type: ignore[attr-defined] # edits of a plan


def test_an_extraction_takes_the_place_of_an_elision(one: Replica) -> None:
    """Where a filter was written in time its text ships, no longer than the elision; the reply says so."""
    plain = plan_pruning(Conversation(read_chat(CHAT)), LIMITS, Chars3())
    decided = one.call(CHAT)
    places = extracted_edits(decided.edits)
    assert places
    assert [e.message for e in decided.edits] == [e.message for e in plain.edits]
    for mine, its in zip(decided.edits, plain.edits, strict=True):
        assert len(mine.new) <= len(its.new)
        assert mine.tokens_after <= its.tokens_after
        assert (mine.action, mine.reason, mine.event_message) == (its.action, its.reason, its.event_message)
        assert is_extracted([mine.new]) is mine.is_extracted
    told = {one.message: one for one in decided.considering}
    for place in places:
        assert (told[place].gate, told[place].is_fresh) == (Gate.ALLOWED, True)
        assert told[place].sent_tokens is not None
    assert decided.stats.final_tokens <= plain.stats.final_tokens
    assert one.metric('pinch_extraction_sent_total{sent="fresh"}') == len(places)


@pytest.mark.parametrize("counting", COUNTERS)
def test_the_sizes_in_the_reply_are_those_of_what_ships(engine: Engine, counting: str) -> None:
    """With extractions in it, the final size is still that of the very messages that ship."""
    with replica(engine, counter=COUNTERS[counting]) as running:
        decided = running.call(CHAT)
    assert extracted_edits(decided.edits)
    shipped = Conversation(read_chat(pruned(CHAT, decided)))
    assert decided.stats.final_tokens == measure(shipped, LIMITS, COUNTERS[counting])
    assert decided.stats.tokens_saved == decided.stats.original_tokens - decided.stats.final_tokens


def test_what_was_sent_trimmed_never_changes(engine: Engine) -> None:
    """Call after call, a result that the plan leaves as it was ships the same text, extracted or not."""
    seen: dict[tuple[int, str], str] = {}
    with replica(engine, DEFERRED) as running:
        for end in points(LONG):
            plan = texts(plan_pruning(Conversation(read_chat(LONG[:end])), LIMITS, Chars3()).edits)
            shipped = texts(running.call(LONG[:end]).edits)
            assert shipped.keys() == plan.keys()
            for message, planned in plan.items():
                assert seen.setdefault((message, planned), shipped[message]) == shipped[message]
            assert running.filtering.idle(60)
        assert running.metric('pinch_extraction_sent_total{sent="fresh"}') > 0
        assert running.metric('pinch_extraction_sent_total{sent="replayed"}') > 0


def test_an_extraction_is_never_swapped_into_the_past(engine: Engine) -> None:
    """What was sent as an elision stays one, in a retry of the call too, though its filter is ready since."""
    with replica(engine, DEFERRED) as running:
        first = running.call(CHAT)
        assert extracted_edits(first.edits) == []
        assert running.filtering.idle(60)
        assert running.writer.asked
        retried, after = running.call(CHAT), running.call(later(CHAT))
        assert texts(retried.edits) == texts(first.edits)
        kept = {m: t for m, t in texts(after.edits).items() if t == texts(first.edits).get(m)}
        assert kept
        assert not set(extracted_edits(after.edits)) & set(texts(first.edits))
        # Another session with that content has not sent it yet.
        other = [user("another session about a handler"), *CHAT[1:]]
        assert extracted_edits(running.call(other).edits)


def test_results_are_filtered_ahead_of_their_first_trim(engine: Engine) -> None:
    """In deferred mode long results are filtered while they are whole, for the event that trims them."""
    with replica(engine, DEFERRED) as running:
        whole = running.call(CHAT[:9])
        assert whole.edits == ()
        assert running.filtering.idle(60)
        assert running.writer.asked
        assert extracted_edits(running.call(CHAT).edits)


def test_replicas_ship_the_same_bytes(engine: Engine) -> None:
    """Calls that go to one replica or the other, restarted in between, ship what one alone would ship."""
    alone: list[dict[int, str]] = []
    with replica(engine) as running:
        alone = [texts(running.call(LONG[:end]).edits) for end in points(LONG)]
        assert running.writer.asked
    shuffled = []
    for turn, end in enumerate(points(LONG)):
        with replica(engine, writer=Scripted(filter=lambda job, turn=turn: f"{turn} {job.label}")) as running:
            shuffled.append(texts(running.call(LONG[:end]).edits))
            assert running.writer.asked == []
    assert shuffled == alone


def test_a_lost_form_is_not_derived_anew(engine: Engine) -> None:
    """When what was settled is lost, the elision ships from then on, and no model is asked."""
    with replica(engine) as running:
        assert extracted_edits(running.call(CHAT).edits)
    with writing(engine) as connection:
        connection.execute(text("DELETE FROM extraction_forms"))
    with replica(engine) as running:
        old = running.call(later(CHAT))
        assert extracted_edits(old.edits) == []
        assert running.writer.asked == []
        lost = running.metric('pinch_extraction_fallbacks_total{fallback="lost"}')
        assert lost == len(old.edits)
        running.call(later(CHAT))
        assert running.metric('pinch_extraction_fallbacks_total{fallback="lost"}') == lost


def test_a_text_that_fits_no_more_is_told(engine: Engine) -> None:
    """Where the excerpt has become shorter than the text that was sent before, it ships, and is counted."""
    with replica(engine) as running:
        assert extracted_edits(running.call(CHAT).edits)
    with writing(engine) as connection:
        connection.execute(text("UPDATE extraction_forms SET text = text || :more"), {"more": "x" * 9_000})
    with replica(engine) as running:
        assert extracted_edits(running.call(CHAT).edits) == []
        assert running.metric('pinch_extraction_fallbacks_total{fallback="unfit"}') > 0


def test_a_frozen_text_spares_calls(engine: Engine) -> None:
    """The first call looks in vain; each later one finds what was sent, and that it needs no call."""
    with replica(engine) as running:
        first = running.call(CHAT)
        found = [told.found for told in first.considering if told.sent_tokens is not None]
        assert set(found) == {Found.NOTHING}
        assert running.filtering.idle(60)
        second = running.call(CHAT)
        again = [told for told in second.considering if told.sent_tokens is not None]
        assert [(told.found, told.is_fresh) for told in again] == len(found) * [(Found.TEXT, False)]
        for what in Found:
            told = [one for call in (first, second) for one in call.considering if one.found is what]
            assert running.metric(f'pinch_extraction_lookups_total{{found="{what}"}}') == len(told)


def test_what_the_gate_guesses_is_told(engine: Engine) -> None:
    """A price nobody configured is told of what was weighed, a class of low yield of what was declined."""
    chat = [
        {**message, "content": json.dumps({"rows": message["content"].splitlines()})}
        if message["role"] == "tool"
        else message
        for message in CHAT
    ]
    policy = replace(POLICY, has_gate=True, prices=None)
    slow = CallContext(cache=CacheContext(state=CacheState.NONE, further_calls=0))
    with replica(engine, policy) as running:
        # What is learned says nothing here: it may explore, and then nothing is declined.
        told = [
            one for _ in range(3) for one in running.call(chat, context=slow).considering if one.content_class
        ]
    assert {Note.UNPRICED in one.notes for one in told} == {True}
    declined = [one for one in told if one.gate is Gate.ECONOMIC]
    assert {one.content_class for one in declined} == {"json_blob"}
    assert {one.notes for one in declined} == {(Note.LOW_YIELD, Note.UNPRICED)}
    with replica(engine, replace(policy, prices=HAIKU)) as running:
        plain = [one for one in running.call(chat, context=slow).considering if one.content_class]
        assert {Note.UNPRICED in one.notes for one in plain} == {False}


def test_without_the_database_the_elision_ships(engine: Engine) -> None:
    """Nobody can settle a form: the plan ships as it would without extraction, and the reply says why."""
    plain = texts(plan_pruning(Conversation(read_chat(CHAT)), LIMITS, Chars3()).edits)
    with replica(engine) as running:
        with writing(engine) as connection:
            connection.execute(text("DROP TABLE extraction_forms"))
        decided = running.call(CHAT)
        assert texts(decided.edits) == plain
        again = running.call(later(CHAT))
        assert texts(again.edits).items() >= plain.items()
        silent = running.metric('pinch_extraction_fallbacks_total{fallback="unavailable"}')
    assert {told.reason for told in decided.considering if told.message in plain} == {"store_unavailable"}
    assert silent >= len(plain)


def test_pruned_again_nothing_changes(one: Replica) -> None:
    """A pruned conversation that comes back is left as it is, extractions too."""
    decided = one.call(CHAT)
    assert extracted_edits(decided.edits)
    once = pruned(CHAT, decided)
    for budget in (LIMITS.budget_tokens, 2_000):
        again = one.call(once, replace(LIMITS, budget_tokens=budget, target_tokens=budget))
        changed = set(texts(again.edits)) & set(extracted_edits(decided.edits))
        assert not changed
    assert one.filtering.idle(60)
    assert not any(is_extracted([job.text]) for job in one.writer.asked)


def test_tenants_share_nothing(engine: Engine) -> None:
    """What was extracted for one tenant is not sent to another, nor settled for it."""
    with replica(engine) as running:
        blue = running.call(CHAT, context=replace(NO_CACHE, tenant="blue"))
        running.writer.filter = lambda _: None
        red = running.call(CHAT, context=replace(NO_CACHE, tenant="red"))
    assert extracted_edits(blue.edits)
    assert extracted_edits(red.edits) == []


def test_a_rewritten_text_is_for_its_own_session(engine: Engine) -> None:
    """What holds more than parts of the original goes to other sessions only where the original is kept."""
    other = [user("another session about a handler"), *CHAT[1:]]
    for shares in (False, True):
        policy, context = replace(POLICY, shares=shares), replace(NO_CACHE, tenant=str(shares))
        with replica(engine, policy, Scripted(is_deletion_only=False)) as running:
            assert extracted_edits(running.call(CHAT, context=context).edits)
            assert running.filtering.idle(60)
            running.writer.filter = lambda _: None
            assert bool(extracted_edits(running.call(other, context=context).edits)) is shares


def test_a_refusal_is_remembered_and_a_fault_is_not(engine: Engine) -> None:
    """A content whose filter was refused is not asked about again; one nobody could be asked about is."""
    with replica(engine, writer=Scripted(filter=lambda _: None)) as running:
        running.call(CHAT)
        assert running.metric('pinch_extraction_filters_total{filter="result not smaller"}') > 0
    other = [user("another turn"), *CHAT[1:]]
    with replica(engine) as running:
        told = running.call(CHAT)
        assert running.writer.asked == []
        del told
    with replica(engine, replace(POLICY, fingerprint="f2"), Scripted(fault="429")) as running:
        running.call(other)
        assert running.writer.asked
    with replica(engine, replace(POLICY, fingerprint="f2")) as running:
        running.call([user("a third turn"), *CHAT[1:]])
        assert running.writer.asked


@pytest.mark.parametrize(("kind", "is_asked_again"), [("PANIC", False), ("UNAVAILABLE", True)])
def test_a_program_that_dies_is_paid_for_once(engine: Engine, kind: str, is_asked_again: bool) -> None:
    """A program that ran out of memory is a refusal for good; a sandbox that was not there is none."""
    with replica(engine, writer=Scripted(filter=lambda _: None, refusal=FaultKind[kind])) as running:
        running.call(CHAT)
        assert running.metric(f'pinch_extraction_filters_total{{filter="{FaultKind[kind]}"}}') > 0
    with replica(engine) as running:
        # The same session and results, sent for the first time at another place.
        running.call([*CHAT[:2], user("more"), *CHAT[2:]])
        assert bool(running.writer.asked) is is_asked_again


@pytest.mark.parametrize("odd", ["a zero \0 inside", "half a pair \ud83d"])
def test_what_no_database_keeps_is_refused_for_good(engine: Engine, odd: str) -> None:
    """A text that could not be kept is a refusal, so that nobody pays for it again."""
    with replica(engine, writer=Scripted(filter=lambda _: odd)) as running:
        assert extracted_edits(running.call(CHAT).edits) == []
        assert running.filtering.idle(60)
        assert running.metric('pinch_extraction_filters_total{filter="other"}') > 0
    with replica(engine) as running:
        running.call([*CHAT[:1], *CHAT[1:]])
        assert running.writer.asked == []


def test_a_dry_run_asks_and_settles_nothing(one: Replica) -> None:
    """A dry run tells what the gates say, and leaves nothing behind."""
    decided = one.call(CHAT, dry_run=True)
    assert decided.edits == ()
    assert {told.gate for told in decided.considering} >= {Gate.ALLOWED}
    assert one.writer.asked == []
    assert extracted_edits(one.call(CHAT).edits)


def test_a_dry_run_is_no_request_of_the_session(engine: Engine) -> None:
    """Of a session's qualifying requests a dry run is none, and no content was seen by it."""
    rules = replace(POLICY.rules, every_n_requests=2)
    with replica(engine, replace(POLICY, rules=rules)) as running:
        dry = running.call(CHAT, dry_run=True)
        real = running.call(CHAT)
        assert extracted_edits(real.edits)
        told = [[one.reuses for one in call.considering if one.content_class] for call in (dry, real)]
        assert told[0] == told[1] != []


@pytest.mark.parametrize(("mode", "gate"), [("goal", Gate.ALLOWED), ("full", Gate.OVER_CONTEXT)])
def test_the_window_must_hold_what_the_model_is_shown(engine: Engine, mode: str, gate: Gate) -> None:
    """A conversation that is shown whole takes room that its goal alone does not take."""
    policy = replace(POLICY, context=ContextMode(mode), window=20_000)
    with replica(engine, policy) as running:
        gates = {
            told.gate for told in running.call(CHAT).considering if told.sent_tokens or told.gate is gate
        }
    assert gates == {gate}


def test_a_caller_without_time_gets_the_elision(one: Replica) -> None:
    """Inline, nothing is written for a caller whose deadline has no room for it."""
    decided = one.call(CHAT, seconds=0.01)
    assert decided.edits
    assert one.writer.asked == []


def test_a_caching_backend_is_declined_with_its_reason(engine: Engine) -> None:
    """Where the cache's state is not known it is warm, and the gate declines, telling what it weighed."""
    with replica(engine, replace(POLICY, has_gate=True)) as running:
        decided = running.call(CHAT, context=CallContext())
        assert running.writer.asked == []
    told = [one for one in decided.considering if one.gate is Gate.ECONOMIC]
    assert told
    assert all(one.reason.startswith("suppressed: disabled by default") for one in told)
    assert all(one.call_usd > 0 and one.content_class for one in told)


def test_a_cold_sweep_needs_a_cache_that_is_gone_for_certain(engine: Engine) -> None:
    """With sweeps on a cold cache is made use of, a warm or unknown one is not; a sweep has its own cap."""
    rules = replace(POLICY.rules, sweeps_cold=True)
    policy = replace(POLICY, has_gate=True, rules=rules, caps=Caps(per_sweep=2))
    minute = 60 * 1_000_000
    now = time.time_ns() // 1_000
    caches = {
        "unknown": CacheContext(),
        "fresh": CacheContext(last_call_unix_micros=now - 5 * minute, ttl_seconds=300),
        "gone": CacheContext(last_call_unix_micros=now - 7 * minute, ttl_seconds=300),
    }
    asked = {}
    for name, cache in caches.items():
        with replica(engine, replace(policy, fingerprint=name)) as running:
            decided = running.call(CHAT, context=CallContext(cache=cache, prompt_rate="30"))
            assert running.filtering.idle(60)
            asked[name] = len(running.writer.asked)
    assert asked == {"unknown": 0, "fresh": 0, "gone": 2}
    assert Gate.OVER_SWEEP in {told.gate for told in decided.considering}


@pytest.mark.parametrize("may_call", [True, False])
def test_what_the_agent_asked_for_whole_is_left_alone(engine: Engine, may_call: bool) -> None:
    """A content whose original was asked for is not extracted for its tenant, nor is its frozen text sent."""
    originals = DatabaseOriginals(engine, "a secret", ttl_seconds=100, max_chars=10**6, max_bytes=10**8)
    with replica(engine, originals=originals) as running:
        first = running.call(CHAT)
        places = extracted_edits(first.edits)
        originals.close()
        reopened = DatabaseOriginals(engine, "a secret", ttl_seconds=100, max_chars=10**6, max_bytes=10**8)
        reference = next(edit.reference for edit in first.edits if edit.is_extracted)
        assert reopened.expand("", reference) == CHAT[places[0]]["content"]
    other = [user("another session about a handler"), *CHAT[1:]]
    policy = replace(POLICY, rules=replace(POLICY.rules, per_output=may_call))
    with replica(engine, policy, originals=reopened) as running:
        decided = running.call(other)
        reopened.close()
        assert len(extracted_edits(decided.edits)) == len(places) - 1
    gates = {told.message: told.gate for told in decided.considering}
    assert gates[places[0]] is Gate.EXPANDED
    assert places[0] not in extracted_edits(decided.edits)


def test_an_error_inside_leaves_the_plan(one: Replica) -> None:
    """Whatever fails in an extractor, the caller gets the plan."""

    def broken(_job: object) -> str:
        raise RuntimeError

    one.writer.filter = broken
    plain = texts(plan_pruning(Conversation(read_chat(CHAT)), LIMITS, Chars3()).edits)
    assert texts(one.call(CHAT).edits) == plain


def test_a_hanging_database_holds_nobody_up(engine: Engine) -> None:
    """A database that hangs costs a call its extractions and no more than its wait."""
    released = threading.Event()

    def hang(*_: object) -> None:
        released.wait(60)

    plain = texts(plan_pruning(Conversation(read_chat(CHAT)), LIMITS, Chars3()).edits)
    with replica(engine, wait_seconds=0.05) as running:
        event.listen(engine, "before_cursor_execute", hang)
        decided = running.call(CHAT, seconds=1.0)
        event.remove(engine, "before_cursor_execute", hang)
        released.set()
    assert texts(decided.edits) == plain


def test_a_hanging_database_holds_nobody_up_who_keeps_originals(engine: Engine) -> None:
    """Whether an original was asked for is waited for no longer than anything else that the database says."""
    released = threading.Event()

    def hang(*_: object) -> None:
        released.wait(60)

    kept = DatabaseOriginals(
        engine, "a secret", ttl_seconds=60, max_chars=100_000, max_bytes=1_000_000, wait_seconds=0.05
    )
    plain = texts(plan_pruning(Conversation(read_chat(CHAT)), LIMITS, Chars3()).edits)
    with replica(engine, wait_seconds=0.05, originals=kept) as running, ThreadPoolExecutor(1) as pool:
        event.listen(engine, "before_cursor_execute", hang)
        calling = pool.submit(running.call, CHAT, seconds=1.0)
        try:
            decided = calling.result(30)
        finally:
            event.remove(engine, "before_cursor_execute", hang)
            released.set()
    kept.close()
    assert texts(decided.edits) == plain


SIZES = st.lists(st.sampled_from([40, 120, 200, 700]), min_size=4, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=SIZES,
    budget=st.sampled_from([3_000, 9_000, 20_000]),
    style=st.sampled_from(list(TrimStyle)),
    inline=st.booleans(),
    number=st.integers(0, 10**9),
)
def test_extraction_holds_what_the_plan_holds(
    engine: Engine, sizes: list[int], budget: int, style: TrimStyle, inline: bool, number: int
) -> None:
    """Over any session: never larger than the plan, never changed once sent, alike on two replicas."""
    chat = [user(f"session {number} about a handler")]
    for index, lines in enumerate(sizes):
        chat += session(1, lines, f"r{index}")[1:]
    limits = replace(LIMITS, budget_tokens=budget, target_tokens=budget * 9 // 10, trim_style=style)
    policy = replace(POLICY, is_inline=inline)
    sent: dict[tuple[int, str], str] = {}
    with replica(engine, policy) as one, replica(engine, policy, Scripted(filter=lambda _: "x" * 50)) as two:
        for turn, end in enumerate(points(chat)):
            plan = plan_pruning(Conversation(read_chat(chat[:end])), limits, Chars3())
            decided = (one, two)[turn % 2].call(chat[:end], limits)
            assert decided.stats.final_tokens <= plan.stats.final_tokens
            shipped = texts(decided.edits)
            for edit in plan.edits:
                mine = shipped[edit.message]
                assert len(mine) <= len(edit.new)
                assert sent.setdefault((edit.message, edit.new), mine) == mine
                assert edit.action is not Action.OMITTED or mine == edit.new
            assert one.filtering.idle(60)
            assert two.filtering.idle(60)
        final = one.call(chat, limits)
        again = two.call(pruned(chat, final), limits)
        assert not set(texts(again.edits)) & set(extracted_edits(final.edits))
