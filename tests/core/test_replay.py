"""The plan as a replay: what was decided before is decided again, to the byte."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinch_server.core import draft as draft_module
from pinch_server.core import trimming
from pinch_server.core.chat import read_chat
from pinch_server.core.checkpoint import Checkpoint
from pinch_server.core.conversation import Conversation, ImagePart
from pinch_server.core.counting import Chars3
from pinch_server.core.event import Event, Order, candidates_at, oldest_first, uniform
from pinch_server.core.forms import PlainForm
from pinch_server.core.history import plan_history
from pinch_server.core.limits import Limits, Stability, Trigger, TrimStyle
from pinch_server.core.plan import Action, Plan, Reason
from pinch_server.core.planning import begun_draft, form_at, plan_pruning
from pinch_server.core.prune_context import prune_context
from pinch_server.core.replay import Replay, call_points
from pinch_server.core.window import window_at
from tests.core.builders import Chat, called, result, round_of, said, user
from tests.core.strategies import chats, limits_of

REPLAY = {"stability": Stability.REPLAY, "trim_style": TrimStyle.PLAIN}


def planned(chat: Chat, **limits: Any) -> Plan:
    """A replayed plan, oldest first."""
    return plan_pruning(
        Conversation(read_chat(chat)), Limits(**{**REPLAY, **limits}), Chars3(), order=oldest_first
    )


def session(rounds: int, chars: int = 6_000) -> Chat:
    """One user turn and so many rounds; the last results are not read yet."""
    chat = [user("go")]
    for index in range(rounds):
        chat += round_of(f"t{index}", f"{index % 10}" * chars)
    return chat


@pytest.mark.parametrize(
    ("chat", "points"),
    [
        ([user("a"), *round_of("x", "1"), *round_of("y", "2")], [1, 3, 5]),
        ([user("a"), said("b"), said("c"), user("d")], [1, 4]),
        ([user("a"), *round_of("x", "1"), said("prefill")], [1, 3]),
        ([said("hello"), user("a")], [2]),
        ([], [0]),
    ],
)
def test_call_points(chat: Chat, points: list[int]) -> None:
    """A call was made before each run of model output and at the end; a prefill adds no point of its own."""
    assert call_points(read_chat(chat)) == points


@settings(max_examples=150)
@given(chats(), limits_of(), st.sampled_from([uniform, oldest_first]), st.data())
def test_containment(chat: Chat, limits: Limits, order: Order, data: st.DataObject) -> None:
    """What an earlier call shipped stands in the later one, or its later event is told."""
    limits = replace(limits, stability=Stability.REPLAY)
    messages = read_chat(chat)
    point = data.draw(st.sampled_from(call_points(messages)))
    early = plan_pruning(Conversation(messages[:point]), limits, Chars3(), order=order)
    late = plan_pruning(Conversation(messages), limits, Chars3(), order=order)
    later = {(e.message, e.block, e.old.index): e for e in late.edits}
    for edit in early.edits:
        kept = later[edit.message, edit.block, edit.old.index]
        if kept.event_message <= point:
            assert (kept.new, kept.event_message) == (edit.new, edit.event_message)
    early_places = {(e.message, e.block, e.old.index) for e in early.edits}
    for place, edit in later.items():
        if place not in early_places:
            assert edit.event_message > point or edit.message >= point


class Kept(dict[bytes, Checkpoint]):
    """Checkpoints in a dict."""

    def put(self, key: bytes, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint."""
        self[key] = checkpoint


@settings(max_examples=100)
@given(chats(), limits_of(), st.sampled_from([uniform, oldest_first]))
def test_checkpoints_change_nothing(chat: Chat, limits: Limits, order: Order) -> None:
    """A plan that goes on from an earlier call's checkpoint is the plan that walks from the start."""
    limits = replace(limits, stability=Stability.REPLAY)
    messages = read_chat(chat)
    checkpoints = Kept()
    for point in call_points(messages):
        conversation = Conversation(messages[:point])
        fresh = plan_pruning(conversation, limits, Chars3(), order=order)
        for _ in range(2):
            assert plan_pruning(conversation, limits, Chars3(), order=order, checkpoints=checkpoints) == fresh


def test_same_history_same_bytes_call_after_call() -> None:
    """Between two events every payload extends the one before it, byte for byte."""
    chat = session(30)
    limits = {"budget_tokens": 20_000, "target_tokens": 12_000, "min_gain": 0.1}
    previous: dict[int, str] = {}
    broken = 0
    for point in call_points(read_chat(chat)):
        edits = {e.message: e.new for e in planned(chat[:point], **limits).edits}
        broken += any(edits.get(message) != new for message, new in previous.items()) or any(
            message not in previous and message < point - 2 for message in edits
        )
        previous = edits
    assert 1 <= broken <= 8


def test_an_event_goes_down_to_the_target() -> None:
    """Once over budget, trimming goes on to the low-water mark, so that the next calls need no event."""
    plan = planned(
        session(14), budget_tokens=24_000, target_tokens=12_000, keep_last_rounds=4, ledger_share=None
    )
    assert plan.stats.final_tokens <= 24_000
    assert len({e.event_message for e in plan.edits}) == 1


def test_gain_gate() -> None:
    """An event that would free too little of the payload is not held, and the reply says so."""
    chat = [user("u" * 90_000), *session(6, chars=5_000)[1:], user("next")]
    held = planned(chat, budget_tokens=10_000, min_gain=0.0, keep_last_rounds=1)
    gated = planned(chat, budget_tokens=10_000, min_gain=0.5, keep_last_rounds=1)
    assert held.edits
    assert (gated.edits, gated.unchanged_reason) == ((), "gain_too_small")


@pytest.mark.parametrize("chars", [300, 800, 1_000])
def test_a_session_of_small_results_is_trimmed(chars: int) -> None:
    """Results no longer than the longest list count too: they are trimmed to half, and the budget is met."""
    chat = [user("go")]
    for index in range(210_000 // chars):
        row = f'{{"id": "order-{index:06}", "state": "shipped", "note": "words that say little, again"}} '
        chat += round_of(f"t{index}", (row * 20)[:chars])
    plan = plan_pruning(Conversation(read_chat(chat)), Limits(), Chars3(), order=oldest_first)
    assert plan.stats.original_tokens > 60_000
    assert plan.stats.budget_met


@pytest.mark.parametrize("style", TrimStyle)
def test_what_came_trimmed_is_nothing_to_gain(style: TrimStyle) -> None:
    """Excerpts that came in stay as they are, so that they carry no event that frees next to nothing."""
    excerpt = "x" * 1_500 + "\n\n[...9,000 chars trimmed...]\n\n" + "y" * 1_500
    chat = [user("go")]
    for index in range(20):
        chat += round_of(f"t{index}", excerpt if index else "z" * 1_200)
    chat += [said("ok"), user("next")]
    plan = planned(chat, budget_tokens=10_000, min_gain=0.25, keep_last_turns=1, trim_style=style)
    assert (plan.edits, plan.unchanged_reason) == ((), "gain_too_small")
    assert planned(chat, budget_tokens=10_000, min_gain=0.0, keep_last_turns=1, trim_style=style).edits


def test_fresh_outsized_results_are_capped_without_an_event() -> None:
    """Where the gate holds an event back, an outsized fresh result is capped: nobody cached it."""
    chat = [user("u" * 90_000), called("x"), result("x", "x" * 50_000)]
    plan = planned(chat, budget_tokens=10_000, min_gain=0.9)
    assert [(e.action, e.reason, e.event_message) for e in plan.edits] == [
        (Action.CAPPED, Reason.FRESH_OUTSIZED, 3)
    ]


def test_cap_on_arrival() -> None:
    """With the option, an outsized result is capped when first seen, within the budget too."""
    chat = [user("go"), called("x"), result("x", "x" * 50_000)]
    assert planned(chat, budget_tokens=90_000).edits == ()
    seen = planned(chat, budget_tokens=90_000, caps_on_arrival=True)
    later = planned([*chat, said("ok"), user("next")], budget_tokens=90_000, caps_on_arrival=True)
    assert [e.new for e in seen.edits] == [e.new for e in later.edits] != []
    assert [e.is_new for e in later.edits] == [False]


def excess(chat: Chat, limits: dict[str, Any]) -> list[float]:
    """How much dearer the calls so far are than untrimmed ones, at each call of a session."""
    chosen = Limits(**{**REPLAY, **limits})
    read = Conversation(read_chat(chat))
    kept = sent = 0.0
    shares: list[float] = []
    before = 0
    for plan in plan_history(read, chosen, Chars3(), order=oldest_first):
        write, cached = chosen.cache_write_multiplier, chosen.cache_read_multiplier
        kept += cached * plan.shared_tokens + write * (plan.final_tokens - plan.shared_tokens)
        sent += cached * before + write * (plan.whole_tokens - before)
        before = plan.whole_tokens
        shares.append(kept / sent - 1 if sent else 0.0)
    return shares


TIGHT: dict[str, Any] = {
    "budget_tokens": 20_000,
    "target_tokens": 10_000,
    "min_gain": 0.1,
    "keep_last_rounds": 2,
    "ledger_share": None,
}


def test_the_ledger_holds_events_back() -> None:
    """No call leaves the session more than `ledger_share` dearer than it would be untrimmed."""
    chat = session(80, chars=3_000)
    unbound = excess(chat, TIGHT)
    bound = excess(chat, {**TIGHT, "ledger_share": 0.02, "ledger_ceiling": 0})
    assert max(unbound) > 0.02
    assert max(bound) <= 0.02
    assert min(bound) < 0


@settings(max_examples=60)
@given(chats(), limits_of())
def test_a_refused_event_leaves_nothing(chat: Chat, limits: Limits) -> None:
    """An event that was tried and taken back leaves every size, text and step as it was."""
    conversation = Conversation(read_chat(chat))
    draft = begun_draft(conversation, Chars3(), 0)
    end = len(conversation.messages)
    draft.include(end)
    before = draft.copy()
    window = window_at(conversation.messages, end, limits)
    event = Event(draft, limits, form_at(conversation, draft, limits)(end), oldest_first, end, target=1)
    draft.watch()
    event.hold(candidates_at(draft, window, limits, end))
    draft.take_back()
    assert (draft.total, draft.units, draft.images) == (before.total, before.units, before.images)
    assert [(r.texts, r.units, r.action, r.event_message, r.is_without_images) for r in draft.results] == [
        (r.texts, r.units, r.action, r.event_message, r.is_without_images) for r in before.results
    ]


def test_the_ceiling_forces_an_event() -> None:
    """Above so many budgets an event is held whatever the ledger says."""
    never = {**TIGHT, "ledger_share": 0.0, "cache_read_multiplier": 0.0}
    assert not planned(session(13), **never, ledger_ceiling=0).edits
    forced = planned(session(17), **never, ledger_ceiling=1.5)
    assert {edit.event_message for edit in forced.edits} == {31}


def test_the_economic_trigger_acts_below_the_budget() -> None:
    """What pays back within the calls expected to follow is trimmed before the budget is reached."""
    chat = session(8)
    limits = {**TIGHT, "budget_tokens": 40_000, "target_tokens": 5_000}
    assert not planned(chat, **limits).edits
    assert planned(chat, **limits, trigger=Trigger.ECONOMIC, cache_expected_calls=40).edits
    assert not planned(chat, **limits, trigger=Trigger.ECONOMIC, cache_expected_calls=0).edits


def test_the_budget_stays_the_hard_limit() -> None:
    """Under the economic trigger a conversation over its budget has its event, whether it pays or not."""
    limits = {**TIGHT, "trigger": Trigger.ECONOMIC, "cache_expected_calls": 0}
    assert planned(session(14), **limits).edits


@settings(max_examples=60)
@given(
    chats(),
    limits_of(),
    st.sampled_from([None, 0.0, 0.02]),
    st.sampled_from([0.0, 1.5]),
    st.sampled_from(Trigger),
)
def test_history_is_every_plan(
    chat: Chat, limits: Limits, share: float | None, ceiling: float, trigger: Trigger
) -> None:
    """One walk over a history gives the plan of each call by itself, with a checkpoint and without."""
    limits = replace(limits, ledger_share=share, ledger_ceiling=ceiling, trigger=trigger)
    messages = read_chat(chat)
    checkpoints = Kept()
    for made in plan_history(Conversation(messages), limits, Chars3(), order=oldest_first):
        prefix = Conversation(messages[: made.end])
        plan = plan_pruning(prefix, limits, Chars3(), order=oldest_first, checkpoints=checkpoints)
        assert (made.edits, made.final_tokens) == (plan.edits, plan.stats.final_tokens)
        assert made.whole_tokens == plan.stats.original_tokens
        assert 0 <= made.shared_tokens <= made.final_tokens


def test_only_new_trims_are_counted() -> None:
    """Edits are cumulative and say which are new; the counters count the new ones only."""
    chat = session(20)
    limits = {"budget_tokens": 16_000, "target_tokens": 8_000}
    plan = planned(chat, **limits)
    again = planned([*chat, said("ok"), user("next")], **limits)
    assert plan.stats.summarized == sum(e.is_new for e in plan.edits)
    assert len(again.edits) >= len(plan.edits)
    assert again.stats.summarized == sum(e.is_new for e in again.edits)


def test_keyed_results_take_a_second_step() -> None:
    """In the keyed style an elided result becomes a placeholder when the target is still out of reach."""
    words = " ".join(f"src/module_{index}.py" for index in range(600))
    chat = [user("go")]
    for index in range(8):
        chat += round_of(f"t{index}", words)
    plan = planned(
        [*chat, said("ok"), user("next")],
        trim_style=TrimStyle.KEYED,
        budget_tokens=6_000,
        target_tokens=1_000,
        keep_last_turns=1,
    )
    assert plan.edits[0].new.startswith("[t0: result omitted; mentioned: src/module_")
    assert plan.edits[0].action is Action.OMITTED


def test_second_steps_go_on_to_the_target() -> None:
    """Excerpts alone leave a session just under its budget; placeholders take it down to the target."""
    words = " ".join(f"src/module_{index}.py" for index in range(600))
    chat = [user("go")]
    for index in range(6):
        chat += round_of(f"t{index}", words)
    plan = planned(chat, **{**TIGHT, "trim_style": TrimStyle.KEYED})
    elided, omitted = (
        [e for e in plan.edits if e.action is action] for action in (Action.ELIDED, Action.OMITTED)
    )
    assert omitted[-1].message < elided[0].message
    assert plan.stats.final_tokens <= 10_000


def test_an_excerpt_that_came_in_takes_no_second_step() -> None:
    """Text recognised as an excerpt stays: a placeholder made of it would count what is not the original."""
    named = " ".join(f"src/module_{index}.py" for index in range(36))
    texts = [text for _ in range(18) for text in (named, *["8 chars."] * 6)]
    parts = [{"type": "text", "text": text} for text in texts]
    chat = [user("go"), *round_of("grep", parts), said("ok"), user("next")]
    limits = Limits(budget_tokens=1, keep_last_turns=1, keep_last_rounds=0, min_gain=0.0)
    once, _ = prune_context(chat, limits)
    again, _ = prune_context(once, limits)
    assert any("chars trimmed" in part["text"] for part in once[2]["content"])
    assert again == once


def test_a_shape_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a result came trimmed is asked once a call, however many points there are."""
    asked: list[str] = []

    def noted(_style: TrimStyle, tool: str, _texts: Sequence[str]) -> trimming.Step:
        asked.append(tool)
        return trimming.Step.WHOLE

    monkeypatch.setattr(draft_module, "own_step", noted)
    chat = [user("go")]
    for index in range(30):
        chat += round_of(f"t{index}", "x" * 25_000)
    planned(chat, budget_tokens=400_000, target_tokens=1_000, trigger=Trigger.ECONOMIC, keep_last_rounds=0)
    assert len(asked) > 20
    assert len(asked) == len(set(asked))


@dataclass(frozen=True, slots=True)
class Counting(PlainForm):
    """The plain form, which counts the texts it has made."""

    made: list[int] = field(default_factory=list)

    def omit(self, tool: str, texts: Sequence[str]) -> list[str]:
        """A placeholder in their place."""
        self.made.append(len(texts))
        return trimming.omit(tool, texts)


@pytest.mark.parametrize(
    "limits",
    [
        {"trigger": Trigger.ECONOMIC, "cache_expected_calls": 3, "budget_tokens": 1_000_000},
        {"ledger_share": 0.0, "ledger_ceiling": 0.0, "budget_tokens": 20_000},
        {
            "trigger": Trigger.ECONOMIC,
            "cache_expected_calls": 8,
            "cache_read_multiplier": 0.1,
            "budget_tokens": 1_000_000,
            "target_tokens": 40_000,
        },
    ],
    ids=["economic", "ledger", "too near the target"],
)
def test_what_cannot_pay_is_given_up_at_once(limits: dict[str, Any]) -> None:
    """An event in vain makes one text and not one for each result: a walk grows with the history alone."""
    chat = [user("go")]
    for index in range(60):
        said_chars = 300 if "target_tokens" in limits else 3_000
        chat += [said("m" * said_chars), *round_of(f"t{index}", f"{index % 10}" * 3_000)]
    messages = read_chat(chat)
    chosen = Limits(**{**REPLAY, "target_tokens": 5_000, "cache_read_multiplier": 0.0, **limits})
    made: list[int] = []
    draft = begun_draft(Conversation(messages), Chars3(), 0)
    Replay(messages, draft, chosen, lambda _end: Counting(made=made), oldest_first).run()
    assert 0 < len(made) <= len(call_points(messages))


def test_an_image_left_out_later_is_told_as_later() -> None:
    """Where a result's text went at one event and its image at another, each edit names its own."""
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    chat = [user("go")]
    for index in range(10):
        chat += round_of(f"t{index}", [{"type": "text", "text": "x" * 2_400}, image])
    limits = {"budget_tokens": 8_000, "target_tokens": 7_000, "min_gain": 0.0, "keep_last_rounds": 1}
    messages = read_chat(chat)
    told: dict[tuple[int, int | None], int] = {}
    later = 0
    for point in call_points(messages):
        plan = planned(chat[:point], **limits)
        for edit in plan.edits:
            place = (edit.message, edit.old.index)
            assert edit.is_new is (place not in told)
            assert edit.event_message == told.setdefault(place, point)
            later += edit.is_new and isinstance(edit.old, ImagePart)
        assert plan.stats.summarized == len({e.message for e in plan.edits if e.is_new})
    assert later


def test_a_second_step_says_what_was_gone_before() -> None:
    """A placeholder in the place of an excerpt of an earlier event tells what that event had removed."""
    words = " ".join(f"src/module_{index}.py" for index in range(600))
    chat = [user("go")]
    for index in range(14):
        chat += round_of(f"t{index}", words)
    limits = {**TIGHT, "trim_style": TrimStyle.KEYED, "min_gain": 0.0}
    before: dict[int, int] = {}
    seconds = 0
    for point in call_points(read_chat(chat)):
        now = {}
        for edit in planned(chat[:point], **limits).edits:
            assert edit.removed_before == (before.get(edit.message, 0) if edit.is_new else 0)
            seconds += edit.removed_before > 0
            now[edit.message] = edit.tokens_before - edit.tokens_after
        before = now
    assert seconds > 0
