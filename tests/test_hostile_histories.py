"""Sessions that misbehave: nothing raises, nothing kept decides, and each degradation has its name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Chars3
from pinch_server.core.event import oldest_first
from pinch_server.core.limits import BOUNDS, Limits, Stability, Trigger, TrimStyle
from pinch_server.core.planning import plan_pruning
from pinch_server.decide import Body, CallContext, Decided, Decider, Policy, PruneCall
from tests.core.builders import Chat, round_of, said, user
from tests.rpc.service import Kept
from tests.test_decide import Watched

MOST: Final = int(BOUNDS["budget_tokens"].high)
NAMED: Final = {"within_budget", "nothing_to_trim", "gain_too_small"}
BUDGETS: Final[list[dict[str, Any]]] = [
    {},
    {"budget_tokens": 1},
    {"budget_tokens": 3_000, "target_tokens": 9_000},
    {"budget_tokens": 3_000, "trigger": Trigger.ECONOMIC},
    {"budget_tokens": 3_000, "ledger_share": 0.0, "ledger_ceiling": 0.0},
    {"budget_tokens": 3_000, "stability": Stability.PER_CALL},
    {"budget_tokens": 2_000, "trim_style": TrimStyle.PLAIN, "relevance": False},
    {"budget_tokens": 4_000, "caps_on_arrival": True, "protected_max_chars": 3_000},
    {"budget_tokens": MOST, "target_tokens": 1, "trigger": Trigger.ECONOMIC, "cache_expected_calls": MOST},
    {"budget_tokens": 2_000, "cache_write_multiplier": 0.0, "trigger": Trigger.ECONOMIC},
    {"budget_tokens": 2_000, "cache_read_multiplier": 100.0, "ledger_share": 1.0, "min_gain": 0.0},
    {"budget_tokens": 2_000, "min_gain": 0.99},
    {"extra_fixed_tokens": MOST},
    {"budget_tokens": 2_000, "protected_tools": ("*",)},
]


def decider() -> Decider:
    policy = Policy(Limits(), is_enabled=True, fingerprint="f", session_key=b"key")
    return Decider(policy, Chars3(), Kept(), Watched(), SystemClock(), Uuid7Ids())


def ask(chosen: Decider, chat: Chat, limits: dict[str, Any]) -> Decided:
    body = Body(json.dumps({"model": "m", "messages": chat}).encode())
    context = CallContext(session_id="s", prompt_rate="3", cached_rate="0.3", cache_write_rate="3.75")
    return chosen.decide(PruneCall(body, limits=limits, context=context))


def paths(number: int, chars: int) -> str:
    return "".join(f"src/part_{number}_{line}.py:{line} wrong\n" for line in range(chars // 24))


def after(chat: Chat, forks: list[Chat], kind: str, step: int, at: int) -> Chat:
    """A session's next history: longer, shorter, another, or one whose past is not what it was."""
    place = at % len(chat) if chat else 0
    if kind == "grows":
        return [*chat, *round_of(f"t{step % 3}", paths(step, (0, 200, 3_000, 9_000)[at % 4]))]
    if kind == "is edited" and chat:
        return [*chat[:place], {**chat[place], "content": "other" * (at % 900)}, *chat[place + 1 :]]
    if kind == "shrinks":
        return chat[:place]
    if kind == "forks":
        forks.append(chat)
        return forks[at % len(forks)]
    if kind == "repeats a result" and chat:
        return [*chat, *[chat[-1]] * (at % 4)]
    if kind == "swaps" and len(chat) > 1:
        other = (place + 1) % len(chat)
        swapped = list(chat)
        swapped[place], swapped[other] = chat[other], chat[place]
        return swapped
    odd: dict[str, Chat] = {
        "is huge": round_of("huge", paths(step, 200_000)),
        "is blank": [{"role": "tool", "tool_call_id": "?", "content": (None, "", [])[at % 3]}],
        "is many": [one for _ in range(30) for one in round_of("t", "ok")],
        "is a prefill": [said("So")],
        "is a turn": [user("go on")],
    }
    return [*chat, *odd.get(kind, [])]


KINDS: Final = [
    *["grows"] * 6,
    *("is edited", "shrinks", "forks", "repeats a result", "swaps"),
    *("is huge", "is blank", "is many", "is a prefill", "is a turn"),
]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(KINDS), st.integers(0, 10**4), st.sampled_from([None, None, *BUDGETS])),
        min_size=4,
        max_size=16,
    )
)
def test_a_history_that_is_not_what_it_was(steps: list[tuple[str, int, dict[str, Any] | None]]) -> None:
    """Edited, shrunk, forked, swollen, under budgets that change: a warm service answers as a new one."""
    warm, chat, limits = decider(), [user("go")], BUDGETS[2]
    forks: list[Chat] = []
    for step, (kind, at, given_limits) in enumerate(steps):
        chat = after(chat, forks, kind, step, at)
        limits = limits if given_limits is None else given_limits
        answer, fresh = ask(warm, chat, limits), ask(decider(), chat, limits)
        assert answer.byte_edits == fresh.byte_edits
        assert (answer.edits, answer.stats) == (fresh.edits, fresh.stats)
        assert (answer.unchanged_reason, answer.economics) == (fresh.unchanged_reason, fresh.economics)
        assert bool(answer.edits) == (answer.unchanged_reason not in NAMED)
        assert answer.stats.tokens_saved >= 0
        assert answer.stats.budget_met == (answer.stats.final_tokens <= answer.budget_tokens)


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("least_gain", [0.0, 0.25])
def test_fifty_thousand_tiny_messages(trigger: Trigger, least_gain: float) -> None:
    """A session of 50,000 tiny messages that no trim makes smaller comes back whole, with the reason."""
    chat = [user("go")]
    for index in range(25_000):
        chat += round_of("t", f"ok {index}")
    limits = Limits(trigger=trigger, min_gain=least_gain, budget_tokens=1_000)
    plan = plan_pruning(Conversation(read_chat(chat)), limits, Chars3(), order=oldest_first)
    assert (plan.edits, plan.unchanged_reason) == ((), "gain_too_small")
    assert not plan.stats.budget_met


def test_one_enormous_result() -> None:
    """A result of eight megabytes is capped when it comes, and in a window that protects it too."""
    chat = [user("go"), *round_of("cat", paths(0, 8_000_000))]
    for history in (chat, [*chat, said("ok"), user("next")]):
        plan = plan_pruning(Conversation(read_chat(history)), Limits(), Chars3(), order=oldest_first)
        assert plan.stats.budget_met
        assert len(plan.edits) == 1
    uncapped = replace(Limits(), protected_max_chars=0)
    plan = plan_pruning(Conversation(read_chat(chat)), uncapped, Chars3(), order=oldest_first)
    assert (plan.edits, plan.unchanged_reason, plan.stats.budget_met) == ((), "gain_too_small", False)
