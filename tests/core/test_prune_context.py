"""The original one call."""

import copy
from typing import Any

from hypothesis import given, settings

from pinch_server.core.limits import Limits
from pinch_server.core.prune_context import prune_context
from tests.core.builders import called, result, round_of, said, user
from tests.core.strategies import chats, limits_of

OLD = [user("start"), *round_of("a", "a" * 9_000), *round_of("b", "b" * 5_000)]
SESSION = [*OLD, said("ok"), user("next")]


def test_within_budget_the_very_same_list_comes_back() -> None:
    """When no trigger fires the list itself is returned, with the numbers that say so."""
    pruned, stats = prune_context(SESSION)
    assert pruned is SESSION
    assert stats["pruned"] is False
    assert "summarized" not in stats


def test_nothing_the_caller_holds_is_mutated() -> None:
    """Neither the list nor its messages change, and unchanged messages are passed through."""
    before = copy.deepcopy(SESSION)
    pruned, _ = prune_context(SESSION, budget_tokens=100, keep_last_turns=1)
    assert before == SESSION
    assert pruned[0] is SESSION[0]
    assert pruned[2] is not SESSION[2]


def test_original_keywords_reach_the_plan() -> None:
    """The original's keywords override the limits of the same names."""
    _, stats = prune_context(SESSION, budget_tokens=4_000, keep_last_turns=1, max_summarize_chars=6_000)
    assert stats == {
        "pruned": True,
        "original_tokens": 4_670,
        "final_tokens": 1_020,
        "tokens_saved": 3_650,
        "summarized": 2,
    }


def test_no_order_is_uniform_and_an_order_stops_early() -> None:
    """None trims every candidate; an order trims the least relevant until the budget is met."""
    _, uniform = prune_context(SESSION, budget_tokens=3_500, keep_last_turns=1)
    pruned, ranked = prune_context(SESSION, budget_tokens=3_500, keep_last_turns=1, relevance_order=[0, 1])
    assert (uniform["summarized"], ranked["summarized"]) == (2, 1)
    assert pruned[4]["content"] == "b" * 5_000


def test_parts_of_any_shape_are_taken() -> None:
    """Contents that are null, numbers, objects or lists of bare strings raise nothing and lose nothing."""
    odd: list[Any] = [
        None,
        7,
        "text",
        {"role": None},
        {"role": "tool", "content": None},
        {"role": "tool", "content": 12},
        {"role": "tool", "content": {"a": "b" * 9_000}},
        called("x"),
        result("x", ["s" * 9_000, None, {"type": "text", "text": None}]),
        {"role": "assistant", "tool_calls": [None, {"function": None}, {"id": 3, "function": {"name": 4}}]},
        user("n"),
    ]
    pruned, stats = prune_context(odd, budget_tokens=10, keep_last_turns=1)
    assert len(pruned) == len(odd)
    assert stats["summarized"] == 1
    assert pruned[8]["content"][0].startswith("sss")
    assert pruned[8]["content"][1:] == [None, {"type": "text", "text": None}]


@settings(max_examples=1500)
@given(chats(), limits_of())
def test_invariants(chat: list[dict[str, Any]], limits: Limits) -> None:
    """I1-I9 on generated chats: only texts of tool results change, each smaller, once and for all."""
    before = copy.deepcopy(chat)
    pruned, stats = prune_context(chat, limits)
    assert chat == before
    assert len(pruned) == len(chat)
    assert stats["tokens_saved"] == stats["original_tokens"] - stats["final_tokens"] >= 0
    assert stats["pruned"] == (pruned != chat)
    if stats["original_tokens"] <= limits.budget_tokens:
        assert pruned is chat
    for old, new in zip(chat, pruned, strict=True):
        assert {key: value for key, value in old.items() if key != "content"} == {
            key: value for key, value in new.items() if key != "content"
        }
        if old["role"] != "tool":
            assert old == new
        else:
            assert_only_texts_shrank(old["content"], new["content"])
    again, _ = prune_context(pruned, limits)
    assert again == pruned
    assert prune_context(copy.deepcopy(chat), limits) == (pruned, stats)


def assert_only_texts_shrank(old: object, new: object) -> None:
    """A content keeps its form; each text in it is the old one or a shorter one that is not blank."""
    if isinstance(old, str):
        assert isinstance(new, str)
        assert old == new or (len(new) < len(old) and new.strip())
    elif isinstance(old, list):
        assert isinstance(new, list)
        for old_part, new_part in zip(old, new, strict=True):
            if old_part.get("type") == "text":
                assert old_part.keys() == new_part.keys()
                assert_only_texts_shrank(old_part["text"], new_part["text"])
            else:
                assert old_part == new_part or "image omitted" in new_part["text"]
    else:
        assert old == new
