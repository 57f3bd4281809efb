"""The options of a replay: what each does alone, and that all of them together keep its promises."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Chars3
from pinch_server.core.event import oldest_first
from pinch_server.core.history import CallPlan
from pinch_server.core.limits import Limits, Stability, Trigger
from pinch_server.core.plan import Ranking, Reason
from pinch_server.core.planning import plan_pruning
from tests.core.builders import Chat, round_of, said, user
from tests.core.walks import assert_contained, walk

BARE = Limits(budget_tokens=12_000, target_tokens=12_000, keep_last_rounds=0, min_gain=0.0)
OPTIONS: dict[str, dict[str, Any]] = {
    "target_tokens": {"target_tokens": 5_000},
    "min_tokens_saved": {"min_tokens_saved": 2_500},
    "contraction": {"keep_last_rounds": 2},
    "min_gain": {"min_gain": 0.3},
    "cap on arrival": {"caps_on_arrival": True, "protected_max_chars": 6_000},
    "ledger": {"ledger_share": 0.02, "ledger_ceiling": 3.0},
    "economic": {"trigger": Trigger.ECONOMIC},
}


def session() -> Chat:
    """Six user turns of seven rounds, their results of all sizes and one of them outsized in each turn."""
    chat: Chat = []
    for turn in range(6):
        chat.append(user(f"do part {turn}"))
        for step in range(7):
            chars = 9_000 if step == 3 else 500 + 613 * ((turn * 7 + step) % 5)
            chat += round_of(f"t{turn}_{step}", f"src/part_{turn}_{step}.py:{step}: value\n" * (chars // 29))
        chat.append(said(f"part {turn} is done"))
    return [*chat, user("and now?")]


SESSION = Conversation(read_chat(session()))


def events(plans: list[CallPlan]) -> list[tuple[CallPlan, int, int]]:
    """The calls at which something was trimmed, with the size that came to them and what they removed."""
    found = []
    for index, plan in enumerate(plans):
        came = plan.whole_tokens
        if index:
            came += plans[index - 1].final_tokens - plans[index - 1].whole_tokens
        if any(edit.is_new for edit in plan.edits):
            found.append((plan, came, came - plan.final_tokens))
    return found


def with_options(*names: str) -> Limits:
    """The bare limits with some options on."""
    given = {key: value for name in names for key, value in OPTIONS[name].items()}
    return replace(BARE, **given)


def test_an_event_is_held_if_and_only_if_the_budget_is_passed() -> None:
    """A call trims when more comes to it than the budget, and never else."""
    limits = replace(with_options("contraction"), keep_last_turns=1, keep_last_rounds=1)
    plans = walk(SESSION, limits)
    held = {plan.end for plan, came, _ in events(plans) if came > limits.budget_tokens}
    assert held
    assert held == {plan.end for plan, _, _ in events(plans)}
    assert all(plan.final_tokens <= limits.budget_tokens for plan in plans if plan.end not in held)


def test_the_low_water_mark_makes_events_rare() -> None:
    """With a target below the budget each event goes down to it where it can, and fewer are held."""
    low = events(walk(SESSION, with_options("target_tokens", "contraction")))
    level = events(walk(SESSION, with_options("contraction")))
    assert 0 < len(low) < len(level)
    assert min(plan.final_tokens for plan, _, _ in low) <= 5_000


def test_too_little_is_not_worth_an_event() -> None:
    """With `min_tokens_saved` no event is held that could remove less, and there are fewer."""
    others = ("target_tokens", "contraction")
    bare = events(walk(SESSION, replace(with_options(*others), target_tokens=1, extra_fixed_tokens=11_000)))
    asked = events(
        walk(
            SESSION,
            replace(with_options(*others, "min_tokens_saved"), target_tokens=1, extra_fixed_tokens=11_000),
        )
    )
    assert min(removed for _, _, removed in bare) < 2_500
    assert 0 < len(asked) < len(bare)
    assert min(removed for _, _, removed in asked) >= 2_500


def test_contraction_lasts_for_its_event() -> None:
    """A window that contracted is whole again at the next call: what it kept then is trimmed by no rule."""
    plans = walk(SESSION, with_options("contraction"))
    released = [edit for edit in plans[-1].edits if edit.reason is Reason.CONTRACTION]
    assert released
    assert not [edit for edit in walk(SESSION, BARE)[-1].edits if edit.reason is Reason.CONTRACTION]
    held = {plan.end for plan, _, _ in events(plans)}
    assert {edit.event_message for edit in released} <= held
    assert any(plan.end not in held for plan in plans if plan.end > released[0].event_message)


def test_the_gain_gate_holds_back_what_frees_too_small_a_share() -> None:
    """With `min_gain` fewer events are held, each of them freeing much of what came to it."""
    bare, gated = events(walk(SESSION, BARE)), events(walk(SESSION, with_options("min_gain")))
    assert 0 < len(gated) < len(bare)
    assert min(removed / came for _, came, removed in gated) > min(
        removed / came for _, came, removed in bare
    )


def test_a_cap_on_arrival_never_changes_what_was_sent() -> None:
    """With the cap on arrival every outsized result is capped in the call that first ships it."""
    plans = walk(SESSION, replace(with_options("cap on arrival"), budget_tokens=10**6))
    assert all(plan.extends for plan in plans)
    assert [edit.reason for edit in plans[-1].edits] == [Reason.FRESH_OUTSIZED] * 6


@pytest.mark.parametrize(
    "names",
    [names for count in range(len(OPTIONS) + 1) for names in combinations(OPTIONS, count)],
    ids="+".join,
)
def test_all_together(names: tuple[str, ...]) -> None:
    """Under any set of options: containment, true sizes, and each call alone as in the walk."""
    limits = with_options(*names)
    plans = walk(SESSION, limits)
    assert_contained(plans)
    for plan in plans[::9]:
        prefix = Conversation(SESSION.messages[: plan.end])
        alone = plan_pruning(prefix, limits, Chars3(), order=oldest_first)
        assert (alone.edits, alone.stats.final_tokens) == (plan.edits, plan.final_tokens)
        is_event = any(edit.is_new for edit in plan.edits)
        assert is_event or alone.stats.ranking is Ranking.NOT_NEEDED
        assert alone.stats.summarized == len({edit.message for edit in plan.edits if edit.is_new})
    if "economic" not in names:
        for plan, came, _ in events(plans):
            fresh = all(edit.reason is Reason.FRESH_OUTSIZED for edit in plan.edits if edit.is_new)
            assert came > limits.budget_tokens or fresh


def test_another_setting_plans_the_past_anew() -> None:
    """Today's limits hold for every call there was, whatever was kept under others."""
    checkpoints: Any = Kept()
    for limits in (BARE, with_options("target_tokens"), with_options("target_tokens", "min_gain"), BARE):
        fresh = plan_pruning(SESSION, limits, Chars3(), order=oldest_first)
        for _ in range(2):
            kept = plan_pruning(SESSION, limits, Chars3(), order=oldest_first, checkpoints=checkpoints)
            assert kept == fresh


def test_per_call_stays() -> None:
    """Decided anew at each call, the target and every option of the replay are without effect."""
    plain = replace(BARE, stability=Stability.PER_CALL)
    wanted = [(plan.edits, plan.final_tokens) for plan in walk(SESSION, plain)]
    for name in ("target_tokens", "min_gain", "cap on arrival", "ledger", "economic"):
        given = {**OPTIONS[name], "protected_max_chars": plain.protected_max_chars}
        assert [
            (plan.edits, plan.final_tokens) for plan in walk(SESSION, replace(plain, **given))
        ] == wanted, name


class Kept(dict[bytes, Any]):
    """Checkpoints in a dict."""

    def put(self, key: bytes, checkpoint: Any) -> None:
        """Keeps a checkpoint."""
        self[key] = checkpoint
