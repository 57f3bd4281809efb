"""What is trimmed, in which order, and what the numbers say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation, Message, Speaker, TextPart, ToolResult
from pinch_server.core.counting import Chars3
from pinch_server.core.event import Ranked, uniform
from pinch_server.core.limits import ORIGINAL
from pinch_server.core.plan import Action, Plan, Ranking, Reason
from pinch_server.core.planning import plan_pruning
from tests.core.builders import Chat, called, result, round_of, said, user


def planned(chat: Chat, order: Sequence[int] | None = None, **limits: Any) -> Plan:
    """A plan over a chat; `order` ranks the candidates."""
    ranking = uniform if order is None else lambda _candidates, _end: Ranked(order, Ranking.LEXICAL)
    return plan_pruning(
        Conversation(read_chat(chat)),
        replace(ORIGINAL, **{"keep_last_rounds": 4, **limits}),
        Chars3(),
        order=ranking,
    )


def changed(plan: Plan) -> list[int]:
    """The messages a plan changes."""
    return [edit.message for edit in plan.edits]


OLD = [user("start"), *round_of("a", "a" * 9_000), *round_of("b", "b" * 3_500), *round_of("c", "c" * 6_000)]
SESSION = [*OLD, said("ok"), user("next"), *round_of("d", "d" * 30_000), *round_of("e", "e")]


def test_within_budget_nothing_changes() -> None:
    """At or under the budget the plan has no edits and says so."""
    plan = planned(SESSION)
    assert (plan.edits, plan.unchanged_reason, plan.stats.budget_met) == ((), "within_budget", True)


def test_uniform_trims_every_candidate() -> None:
    """Without a ranking every result outside the window takes its step, even when fewer would do."""
    plan = planned(SESSION, budget_tokens=15_000, keep_last_turns=1, protected_max_chars=0)
    assert changed(plan) == [2, 4, 6]
    assert [edit.action for edit in plan.edits] == [Action.ELIDED, Action.OMITTED, Action.ELIDED]
    assert plan.stats.ranking is Ranking.UNIFORM


def test_ranked_stops_at_the_budget() -> None:
    """With a ranking the least relevant results go first, and trimming stops once the budget is met."""
    plan = planned(SESSION, order=[2, 0, 1], budget_tokens=15_500, keep_last_turns=1, protected_max_chars=0)
    assert changed(plan) == [6]
    assert plan.stats.budget_met


def test_invalid_indices_are_ignored_and_missing_ones_left_alone() -> None:
    """A ranking may hold nonsense: only results it names are trimmed."""
    plan = planned(SESSION, order=[7, -1, 1, 1], budget_tokens=100, keep_last_turns=1, keep_last_rounds=0)
    assert changed(plan) == [4, 10]


def test_outsized_results_in_the_window_are_capped() -> None:
    """A protected result above the cap is elided as capped; 0 means no cap."""
    plan = planned(SESSION, budget_tokens=5_000, keep_last_turns=1)
    capped = [edit for edit in plan.edits if edit.action is Action.CAPPED]
    assert [(edit.message, edit.reason) for edit in capped] == [(10, Reason.OUTSIZED)]
    assert plan.stats.capped == 1
    assert planned(SESSION, budget_tokens=5_000, keep_last_turns=1, protected_max_chars=0).stats.capped == 0


def test_fresh_results_are_only_ever_capped() -> None:
    """A result the model has not read yet stays whole unless it is outsized."""
    chat = [user("go"), called("x", "y"), result("x", "x" * 19_000), result("y", "y" * 21_000)]
    plan = planned(chat, budget_tokens=100, keep_last_rounds=1)
    assert changed(plan) == [3]
    assert plan.edits[0].reason is Reason.FRESH_OUTSIZED
    assert not plan.stats.budget_met


def test_window_contracts_to_the_newest_rounds() -> None:
    """One long turn over budget gives up its older rounds, oldest first, and stops at the budget."""
    chat = [user("go")]
    for index in range(8):
        chat += round_of(f"t{index}", f"{index}" * 6_000)
    chat.append(said("done"))
    plan = planned(chat, budget_tokens=14_500, keep_last_rounds=4)
    assert changed(plan) == [2, 4]
    assert {edit.reason for edit in plan.edits} == {Reason.CONTRACTION}
    assert changed(planned(chat, budget_tokens=100, keep_last_rounds=4)) == [2, 4, 6, 8]
    assert planned(chat, budget_tokens=100, keep_last_rounds=0).edits == ()


def test_protected_tools_are_never_trimmed() -> None:
    """Results of tools that match a protected glob stay whole, capped or not."""
    chat = [user("s"), *round_of("memory_read", "m" * 50_000), *round_of("ls", "x" * 9_000), user("n")]
    plan = planned(
        chat, budget_tokens=10, keep_last_turns=1, keep_last_rounds=1, protected_tools=("memory_*",)
    )
    assert 2 not in changed(plan)


def test_errors_go_last_and_are_never_omitted() -> None:
    """An error result outlives the others in a ranking, and is elided rather than replaced."""
    chat = [
        user("s"),
        called("a"),
        result("a", "e" * 9_000, is_error=True),
        *round_of("b", "b" * 9_000),
        called("c"),
        result("c", "e" * 3_500, is_error=True),
        said("ok"),
        user("n"),
    ]
    assert changed(planned(chat, order=[0, 1, 2], budget_tokens=6_000, keep_last_turns=1)) == [4]
    assert changed(planned(chat, order=[0, 1, 2], budget_tokens=10, keep_last_turns=1)) == [2, 4]


def test_errors_go_last_when_the_window_contracts() -> None:
    """Without a ranking too, an error result of a contracting window outlives the others."""
    chat = [user("go"), called("e"), result("e", "e" * 6_000, is_error=True)]
    for index in range(5):
        chat += round_of(f"t{index}", f"{index}" * 6_000)
    assert changed(planned(chat, budget_tokens=11_500, keep_last_rounds=4)) == [4]


def test_edits_of_one_message_do_not_hang_on_each_other() -> None:
    """A trim is weighed by itself: another result of the same message cannot tip the scale."""
    results = tuple(
        ToolResult(None, name, is_error=False, parts=(TextPart("x" * size, (name,)),), block=block)
        for block, (name, size) in enumerate((("ls", 22), ("grep", 900)))
    )
    messages = (Message(Speaker.TOOL, results=results), *read_chat([said("ok"), user("next")]))
    limits = replace(ORIGINAL, budget_tokens=1, keep_last_turns=1)
    plan = plan_pruning(Conversation(messages), limits, Chars3())
    assert [edit.tool for edit in plan.edits] == ["grep"]


def test_too_little_to_gain_changes_nothing() -> None:
    """Below `min_tokens_saved` in all, nothing is trimmed and the reply says why."""
    plan = planned(SESSION, budget_tokens=100, keep_last_turns=1, min_tokens_saved=100_000)
    assert (plan.edits, plan.unchanged_reason) == ((), "gain_too_small")


def test_what_cannot_shrink_is_said() -> None:
    """Over budget with nothing to trim, the conversation comes back with `budget_met` false."""
    plan = planned([user("u" * 90_000)], budget_tokens=100)
    assert (plan.edits, plan.unchanged_reason, plan.stats.budget_met) == ((), "nothing_to_trim", False)


def test_fixed_tokens_are_in_both_sizes() -> None:
    """Tokens that ship beside the messages are part of the size before and after."""
    without = planned(SESSION, budget_tokens=1_000, keep_last_turns=1).stats
    with_tools = planned(SESSION, budget_tokens=1_000, keep_last_turns=1, extra_fixed_tokens=700).stats
    assert with_tools.original_tokens == without.original_tokens + 700
    assert with_tools.final_tokens == without.final_tokens + 700


def test_names_come_from_the_nearest_call_before() -> None:
    """Ids repeat across turns: the placeholder names the tool of the nearest preceding call."""
    chat = [user("s")]
    for name in ("read", "grep"):
        chat += [called(name, ids=("call_0",)), result("call_0", "x" * 900)]
    chat += [result("unknown", "x" * 900), said("ok"), user("n")]
    plan = planned(chat, budget_tokens=10, keep_last_turns=1)
    assert [edit.new for edit in plan.edits] == [
        "[read: result omitted]",
        "[grep: result omitted]",
        "[tool: result omitted]",
    ]


def test_old_images_give_way_only_when_needed() -> None:
    """An image in an old result becomes a note when the texts alone do not reach the budget."""
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    chat = [user("s"), *round_of("shot", [{"type": "text", "text": "t" * 900}, image]), said("ok"), user("n")]
    needed = planned(chat, budget_tokens=100, keep_last_turns=1)
    assert [edit.new for edit in needed.edits] == ["[shot: result omitted]", "[image omitted: image]"]
    enough = planned(chat, budget_tokens=1_650, keep_last_turns=1)
    assert [edit.new for edit in enough.edits] == ["[shot: result omitted]"]
    assert len(planned(chat, budget_tokens=100, keep_last_turns=1, omit_images=False).edits) == 1


@pytest.mark.parametrize("unsupported", ["unsupported_state"])
def test_unsupported_conversations_come_back_as_they_came(unsupported: str) -> None:
    """A conversation that may not be touched is counted and returned with its reason."""
    conversation = Conversation(read_chat(SESSION), unsupported=unsupported)
    plan = plan_pruning(conversation, replace(ORIGINAL, budget_tokens=1), Chars3())
    assert (plan.edits, plan.unchanged_reason) == ((), unsupported)
