"""What is kept of a conversation between calls saves time, and changes not a bit of any answer."""

from __future__ import annotations

import gc
import json
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.corpus import conversations
from pinch_server.core.counting import Chars3
from pinch_server.core.limits import Limits, Stability, TrimStyle
from pinch_server.decide import Body, CallContext, PruneCall
from pinch_server.formats.body import read_body
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.format import Format
from pinch_server.formats.recent import RecentHistories
from pinch_server.settings import Settings
from tests.core.builders import round_of, user
from tests.formats.grammar import FORMATS, bodies, limits
from tests.recent_calls import HISTORY_KEYS, Remembering, planned, tellings

KINDS = ("mark", "mark", "member", "odd", "reference", "twice")
MIB = 1024 * 1024
CORPUS = list(conversations())
many = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def session(rounds: int, opening: str = "go", chars: int = 3_000) -> bytes:
    """A chat of so many rounds as a body."""
    chat = [user(opening)]
    for index in range(rounds):
        chat += round_of(f"t{index}", f"src/file_{index}.py:12: value {index} " * (chars // 30))
    return json.dumps({"model": "m", "messages": chat, "tools": [{"name": "ls"}]}).encode()


def changed(body: bytes, data: st.DataObject) -> bytes:
    """A later telling of the same: a mark moved, a member more, an entry that is no message, or as it is."""
    whole = json.loads(body)
    kind = data.draw(st.sampled_from([*["as it is"] * 5, *KINDS]))
    key = next((key for key in ("messages", "input", "contents") if isinstance(whole.get(key), list)), None)
    if key is None:
        return body
    history = whole[key]
    if kind == "mark" and history and isinstance(history[-1], dict):
        history[-1] = {**history[-1], "cache_control": {"type": "ephemeral"}}
    elif kind == "member":
        whole["temperature"] = 1
    elif kind == "odd":
        history.append(data.draw(st.sampled_from([5, None, "text", {"role": 1}, {"content": "\ud800"}])))
    elif kind == "reference":
        history.append({"type": "item_reference", "id": "x"})
    told = json.dumps(whole)
    if kind == "twice":
        told = told[:-1] + f', "{key}": []}}'
    return told.encode()


@pytest.mark.parametrize("format", FORMATS)
@many
@given(st.data())
def test_answers_are_the_same_whatever_is_kept(format: str, data: st.DataObject) -> None:
    """Kept, not kept, evicted or never heard of: each call of a session gets the same plan, bytes and row."""
    body, chosen = data.draw(bodies(format)), data.draw(limits())
    named = data.draw(st.sampled_from([format, None]))
    ends = sorted(data.draw(st.lists(st.integers(1, 10), min_size=2, max_size=5)))
    is_clean = data.draw(st.sampled_from([True, True, True, False]))
    everything, nothing = Remembering(64 * MIB, chosen), Remembering(0, chosen)
    little = Remembering(30_000, chosen)
    calls = tellings(body, format, ends, is_clean=is_clean)
    for call in [*(changed(one, data) for one in calls), body]:
        told = everything.told(call, named)
        assert told == nothing.told(call, named)
        assert told == little.told(call, named)
        assert planned(told) == planned(Remembering(0, chosen).told(call, named))


@pytest.mark.parametrize("format", FORMATS)
@many
@given(st.data())
def test_a_reading_is_the_same_whatever_is_kept(format: str, data: st.DataObject) -> None:
    """A body read by its entries says what it says read in one piece, or is refused in the same words."""
    recent = RecentHistories(Chars3())
    first, named = data.draw(bodies(format)), data.draw(st.sampled_from([None, *FORMATS]))
    for body in (
        first,
        first,
        data.draw(bodies(format)),
        changed(first, data) if b"1e400" not in first else first,
    ):
        assert read(body, named, recent) == read(body, named, None)


def read(body: bytes, named: str | None, recent: RecentHistories | None) -> object:
    """What a body says, or why it is refused."""
    try:
        reading = read_body(body, Format(named) if named else None, recent)
    except (BodyError, NotUnderstoodError) as error:
        return type(error), str(error)
    if recent is not None and reading.history is not None:
        recent.put(reading.history)
    return reading.dialect.format, reading.conversation


@pytest.mark.skipif(not CORPUS, reason="the folder shared/corpus does not lie beside the project")
@pytest.mark.parametrize("counting", ["chars3", "o200k"])
def test_real_sessions(counting: str) -> None:
    """The last calls of real conversations are answered the same with everything kept and with nothing."""
    chosen = Limits(budget_tokens=8_000)
    everything, nothing = Remembering(64 * MIB, chosen, counting), Remembering(0, chosen, counting)
    for conversation in CORPUS[:: max(1, len(CORPUS) // 24)]:
        dialect = str(conversation.format)
        length = len(json.loads(conversation.body)[HISTORY_KEYS[dialect]])
        ends = sorted({max(1, length - back) for back in (9, 5, 4, 1, 0)})
        for call in tellings(conversation.body, dialect, ends):
            told = everything.told(call, dialect, conversation.name)
            assert told == nothing.told(call, dialect, conversation.name)


def test_a_session_goes_on_from_where_it_was() -> None:
    """Of a next call only the new entries are read; the other messages are the very same objects."""
    recent = RecentHistories(Chars3())
    first = read_body(session(5), None, recent)
    assert first.history is not None
    recent.put(first.history)
    second = read_body(session(6), None, recent)
    assert all(
        one is other
        for one, other in zip(first.conversation.messages, second.conversation.messages, strict=False)
    )
    assert len(second.conversation.messages) == len(first.conversation.messages) + 2
    assert first.conversation.tools == second.conversation.tools


@pytest.mark.parametrize("style", list(TrimStyle))
@pytest.mark.parametrize("stability", list(Stability))
def test_a_call_that_comes_again_is_not_worked_out_again(stability: Stability, style: TrimStyle) -> None:
    """The plan of a conversation is kept for the same conversation under the same rules, and for no other."""
    chosen = Limits(budget_tokens=8_000, stability=stability, trim_style=style)
    kept, nothing = Remembering(64 * MIB, chosen), Remembering(0, chosen)
    first = kept.decider.decide(_call("s", session(30)))
    again = kept.decider.decide(_call("s", session(30)))
    assert first.edits
    assert again.edits is first.edits
    assert again.stats == first.stats
    told = session(30)
    for other in (
        replace(_call("s", told), limits={"budget_tokens": 7_000}),
        _call("s", told.replace(b'"ls"', b'"a tool that is longer"')),
        _call("s", session(31)),
        _call("s", session(29)),
    ):
        decided = kept.decider.decide(other)
        assert decided.edits is not first.edits
        assert replace(decided, decision_id="", prefix=None) == replace(
            nothing.decider.decide(other), decision_id="", prefix=None
        )


def test_threads_share_what_is_kept() -> None:
    """Eight threads with the calls of four sessions get what one thread gets."""
    chosen = Limits(budget_tokens=6_000)
    calls = [(f"s{one}", session(rounds, f"go {one}")) for rounds in range(6, 22) for one in range(4)]
    alone = Remembering(0, chosen)
    wanted = [planned(alone.told(body, None, name)) for name, body in calls]
    shared = Remembering(2 * MIB, chosen)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda call: shared.decider.decide(_call(*call)), calls))
    for decided, expected in zip(got, wanted, strict=True):
        assert replace(decided, decision_id="", prefix=None, economics=None) == expected


def _call(name: str, body: bytes) -> PruneCall:
    return PruneCall(Body(body), context=CallContext(session_id=name, prompt_rate="3"))


def test_memory_is_bounded() -> None:
    """However many sessions call, what is kept weighs no more than the bound says."""
    most = 4 * MIB
    # A process of its own: what is traced is all of a process, the threads of other tests among it.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        held, grown = pool.submit(_held_and_grown, most).result()
    assert 0 < held <= most
    # The checkpoints and rows of these calls are kept too, by bounds of their own.
    rows = 180 * 4_000
    assert grown < most + rows + 3 * MIB


def _held_and_grown(most: int) -> tuple[int, int]:
    """What is counted as held after 180 calls of 60 sessions, and what the process grew by (bytes)."""
    remembering = Remembering(most, Limits(budget_tokens=6_000))
    remembering.told(session(40, "warm"), None)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(60):
        for rounds in (38, 39, 40):
            remembering.told(session(rounds, f"number {number}"), None, f"s{number}")
    gc.collect()
    return remembering.decider.recent.held, tracemalloc.get_traced_memory()[0] - before


@pytest.mark.parametrize(
    ("rounds", "chars"), [(4_000, 30), (600, 900), (250, 6_000)], ids=["short", "middling", "long"]
)
def test_what_is_kept_is_counted_at_about_what_it_takes(rounds: int, chars: int) -> None:
    """The bound is one of real memory, whether results are many or long, and after events as before."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        held, grown = pool.submit(_held_and_taken, rounds, chars).result()
    assert 0.75 < held / grown < 1.75


def _held_and_taken(rounds: int, chars: int) -> tuple[int, int]:
    """What a session is counted at that was called six times, and what it takes (bytes)."""
    remembering = Remembering(512 * MIB, Limits(budget_tokens=rounds * chars // 8))
    remembering.told(session(40, "warm"), None)
    calls = [session(rounds - rounds // 10 * back, "go", chars) for back in range(5, -1, -1)]
    before_held = remembering.decider.recent.held
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for body in calls:
        remembering.told(body, None)
    remembering.kept.decisions.clear()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    return remembering.decider.recent.held - before_held, grown + len(calls[-1])


def test_a_long_session_is_kept_by_default() -> None:
    """With the shipped bound a history of fifty thousand messages costs its next call only what is new."""
    remembering = Remembering(Settings().recent_bytes)
    remembering.told(session(25_000, "go", 30), None)
    found = remembering.decider.recent.find(None, session(25_001, "go", 30))
    assert found is not None
    assert found[1] == 50_001


def test_nothing_is_kept_when_it_is_switched_off() -> None:
    """With 0 bytes no conversation outlives its call."""
    remembering = Remembering(0)
    remembering.told(session(4), None)
    assert remembering.decider.recent.held == 0
    assert remembering.decider.recent.find(None, session(4)) is None


def test_a_later_call_takes_the_place_of_the_one_before() -> None:
    """A session is kept once, as long as it is now."""
    remembering = Remembering(64 * MIB)
    remembering.told(session(4), None)
    once = remembering.decider.recent.held
    for _ in range(3):
        remembering.told(session(4), None)
    assert remembering.decider.recent.held == once
    remembering.told(session(5), None)
    assert once < remembering.decider.recent.held < 2 * once
