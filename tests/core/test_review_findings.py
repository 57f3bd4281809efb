"""The findings of the original module's review, each held by a test of its own."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pinch_server.core.chat import read_chat, tool_definitions
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import DraftResult
from pinch_server.core.event import Ranked
from pinch_server.core.limits import ORIGINAL
from pinch_server.core.plan import Ranking
from pinch_server.core.planning import plan_pruning
from pinch_server.core.prune_context import prune_context
from pinch_server.core.tally import Tally
from tests.core.builders import called, result, round_of, said, user

SMALL = replace(ORIGINAL, keep_last_rounds=4, budget_tokens=1_000, keep_last_turns=1)


def test_negative_trim_below_3000_is_impossible() -> None:
    """A length limit under which a trimmed text would grow is refused, naming the limit and its bound."""
    with pytest.raises(ValueError, match="max_summarize_chars: 2999 is out of range; give from 3000"):
        prune_context([], max_summarize_chars=2_999)
    with pytest.raises(ValueError, match="protected_max_chars"):
        prune_context([], protected_max_chars=1)


def test_zero_user_messages_still_protect_the_newest_rounds() -> None:
    """Without any user turn the last rounds are the window, so the newest result is never fair game."""
    messages = [*round_of("old", "o" * 9_000), said("x"), *round_of("new", "n" * 9_000), said("done")]
    pruned, _ = prune_context(messages, SMALL)
    assert "chars trimmed" in pruned[1]["content"]
    assert pruned[4]["content"] == "n" * 9_000


def test_image_blocks_are_counted() -> None:
    """An image costs what a provider charges for it, never nothing and never its base64 length."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    _, stats = prune_context([{"role": "user", "content": [image]}])
    assert 85 <= stats["original_tokens"] <= 2_000


def test_mixed_text_and_image_is_not_flattened() -> None:
    """A result of text, image, text keeps its three parts in place; only the texts are cut."""
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    parts = [{"type": "text", "text": "a" * 6_000, "cache_control": {"type": "ephemeral"}}, image]
    parts.append({"type": "text", "text": "b" * 6_000})
    limits = replace(ORIGINAL, budget_tokens=2_700, keep_last_turns=1)
    messages = [user("start"), called("look"), result("look", parts), said("seen"), user("next")]
    pruned, _ = prune_context(messages, limits)
    kept = pruned[2]["content"]
    assert [part["type"] for part in kept] == ["text", "image_url", "text"]
    assert kept[0] == {
        "type": "text",
        "text": "a" * 1_500 + "\n\n[...4,500 chars trimmed...]",
        "cache_control": {"type": "ephemeral"},
    }
    assert kept[1] == image
    assert kept[2]["text"] == "[...4,500 chars trimmed...]\n\n" + "b" * 1_500


def test_omitted_is_the_word() -> None:
    """A placeholder says `omitted`: nothing is ever dropped from the conversation."""
    messages = [user("start"), *round_of("ls", "x" * 3_500), said("ok"), user("next")]
    pruned, stats = prune_context(messages, replace(ORIGINAL, budget_tokens=500, keep_last_turns=1))
    assert pruned[2]["content"] == "[ls: result omitted]"
    assert len(pruned) == len(messages)
    assert stats["summarized"] == 1


def test_previous_context_is_never_tool_output_or_system_prompt() -> None:
    """The frame's context is the nearest earlier user or assistant text, and empty on the first turn."""
    first = Tally.of(
        read_chat([{"role": "system", "content": "Obey."}, user("Hello")]), Chars3()
    ).turn_frame()
    assert (first.message, first.previous_context, first.framed) == ("Hello", "", "Hello")
    later = Tally.of(
        read_chat([user("Why?"), *round_of("ls", "output"), user("And now?")]), Chars3()
    ).turn_frame()
    assert later.previous_context == "Why?"
    assert later.framed == "Context: Why?\n---\nMessage: And now?"


def test_measured_size_is_that_of_the_pruned_list() -> None:
    """The final size is a count of what ships, the same that a fresh count of the pruned list gives."""
    messages = [user("start"), *round_of("ls", "x" * 30_000), said("ok"), user("next")]
    pruned, stats = prune_context(messages, SMALL)
    _, again = prune_context(pruned, SMALL)
    assert stats["final_tokens"] == again["original_tokens"] < stats["original_tokens"]


def test_tool_overhead_counts_in_the_guard() -> None:
    """Tool definitions can push a request over its budget, and then candidates are ranked and trimmed."""
    messages = [user("start"), *round_of("ls", "x" * 6_000), said("ok"), user("next")]
    _, without = prune_context(messages, budget_tokens=3_000, keep_last_turns=1)
    assert without["pruned"] is False
    asked: list[int] = []

    def rank(candidates: Sequence[DraftResult], _end: int) -> Ranked:
        asked.append(len(candidates))
        return Ranked([0], Ranking.LEXICAL)

    limits = replace(ORIGINAL, budget_tokens=3_000, keep_last_turns=1, extra_fixed_tokens=2_000)
    plan = plan_pruning(Conversation(read_chat(messages)), limits, Chars3(), order=rank)
    assert asked == [1]
    assert plan.stats.pruned
    assert plan.stats.ranking is Ranking.LEXICAL


def test_tool_definitions_are_counted_as_the_original_does() -> None:
    """Definitions cost a third of their JSON text with the original's separators, nothing when absent."""
    assert tool_definitions([{"name": "ls"}]) == ('[{"name": "ls"}]',)
    assert tool_definitions(None, []) == ()


def test_defaults_are_declared_once() -> None:
    """The default budget stands in one place of the source: the limits, which every door reads."""
    sources = (Path(__file__).parents[2] / "server").rglob("*.py")
    budget = re.compile(r"budget\w*(: [^=\n]*)? = 50_000", re.IGNORECASE)
    declaring = [path.name for path in sources if budget.search(path.read_text(encoding="utf-8"))]
    assert declaring == ["limits.py"]
