"""Containment: what a call shipped stands in every later call, or its later event is told."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Chars3
from pinch_server.core.event import oldest_first, uniform
from pinch_server.core.limits import Limits, Stability, Trigger, TrimStyle
from pinch_server.core.planning import plan_pruning
from tests.core.builders import Chat
from tests.core.strategies import chats, limits_of
from tests.core.walks import assert_contained, real_sessions, shipped_sizes, walk

TIGHT = Limits(budget_tokens=12_000)
SETTINGS = {
    "shipped": Limits(),
    "tight": TIGHT,
    "ungated": replace(TIGHT, min_gain=0.0),
    "plain": replace(TIGHT, trim_style=TrimStyle.PLAIN, min_gain=0.1),
    "economic": replace(TIGHT, trigger=Trigger.ECONOMIC),
    "ledger": replace(TIGHT, ledger_share=0.02),
    "arrival": replace(TIGHT, caps_on_arrival=True),
}


@settings(max_examples=100)
@given(chats(), limits_of())
def test_generated_sessions(chat: Chat, limits: Limits) -> None:
    """Call after call, over any history, an edit stays to the byte or goes deeper at a new event."""
    conversation = Conversation(read_chat(chat))
    for order in (uniform, oldest_first):
        assert_contained(walk(conversation, replace(limits, stability=Stability.REPLAY), order))


@pytest.mark.parametrize("name", SETTINGS)
def test_real_sessions(name: str) -> None:
    """The same over real sessions; their sizes are those of the texts that ship, counted anew."""
    events = 0
    for session, conversation in real_sessions(least_messages=20):
        plans = walk(conversation, SETTINGS[name])
        assert_contained(plans)
        beside = plans[0].final_tokens - sum(
            shipped_sizes(conversation.messages[: plans[0].end], plans[0].edits)
        )
        for plan in plans[:: max(1, len(plans) // 5)]:
            sizes = shipped_sizes(conversation.messages[: plan.end], plan.edits)
            assert plan.final_tokens == beside + sum(sizes), session
        events += sum(not plan.extends for plan in plans)
    assert events > 0


def test_any_call_of_a_real_session_by_itself() -> None:
    """A prefix planned alone, as a replica that has just started would, is what the walk through it gave."""
    for session, conversation in real_sessions(least_messages=60):
        plans = walk(conversation, TIGHT)
        for plan in (plans[len(plans) // 3], plans[-1]):
            prefix = replace(conversation, messages=conversation.messages[: plan.end])
            alone = plan_pruning(prefix, TIGHT, Chars3(), order=oldest_first)
            assert (alone.edits, alone.stats.final_tokens) == (plan.edits, plan.final_tokens), session
