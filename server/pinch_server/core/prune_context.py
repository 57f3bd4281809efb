"""The original one call: prune a list of OpenAI-shaped messages, in process, without a server."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation, ImagePart
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import DraftResult
from pinch_server.core.event import Order, Ranked, uniform
from pinch_server.core.limits import ORIGINAL, Limits, limit_violations
from pinch_server.core.plan import Ranking
from pinch_server.core.planning import plan_pruning


def prune_context(
    messages: list[Any],
    limits: Limits | None = None,
    *,
    relevance_order: Sequence[object] | None = None,
    extra_fixed_tokens: int = 0,
    budget_tokens: int | None = None,
    keep_last_turns: int | None = None,
    max_summarize_chars: int | None = None,
    protected_max_chars: int | None = None,
) -> tuple[list[Any], dict[str, int | bool]]:
    """Trims old tool results of a chat until it fits its budget.

    Neither the list nor any message in it is mutated; changed messages are copies.

    Args:
        messages: OpenAI-shaped message dicts, oldest first.
        limits: What may ship; None: the original's defaults, whose window never contracts.
        relevance_order: Indices into the results outside the window, in order of appearance, least relevant
            first; invalid ones are ignored, missing ones left alone. None trims them all.
        extra_fixed_tokens: Tokens that ship beside the messages, such as tool definitions.
        budget_tokens: Overrides the limit of that name.
        keep_last_turns: Overrides the limit of that name.
        max_summarize_chars: Overrides the limit of that name.
        protected_max_chars: Overrides the limit of that name.

    Returns:
        The messages, the very same list when nothing changes, and the numbers `pruned`, `original_tokens`,
        `final_tokens`, `tokens_saved` and, when pruned, `summarized`.

    Raises:
        ValueError: A limit is out of range; the text names each.
    """
    chosen = limits or ORIGINAL
    overrides: dict[str, int] = {
        name: value
        for name, value in (
            ("budget_tokens", budget_tokens),
            ("keep_last_turns", keep_last_turns),
            ("max_summarize_chars", max_summarize_chars),
            ("protected_max_chars", protected_max_chars),
        )
        if value is not None
    }
    chosen = replace(chosen, extra_fixed_tokens=extra_fixed_tokens, **overrides)  # type: ignore[arg-type]
    problems = limit_violations(chosen)
    if problems:
        raise ValueError("; ".join(map(str, problems)))
    order = uniform if relevance_order is None else _order(relevance_order)
    plan = plan_pruning(Conversation(read_chat(messages)), chosen, Chars3(), order=order)
    stats: dict[str, int | bool] = {
        "pruned": plan.stats.pruned,
        "original_tokens": plan.stats.original_tokens,
        "final_tokens": plan.stats.final_tokens,
        "tokens_saved": plan.stats.tokens_saved,
    }
    if not plan.edits:
        return messages, stats
    stats["summarized"] = plan.stats.summarized
    pruned = list(messages)
    for edit in plan.edits:
        if isinstance(edit.old, ImagePart):
            address = edit.old.address or ()
            new: Any = {"type": "text", "text": edit.new}
        else:
            address, new = edit.old.address, edit.new
        pruned[edit.message] = _with(pruned[edit.message], address[1:], new)
    return pruned, stats


def _order(order: Sequence[object]) -> Order:
    indices = [index for index in order if isinstance(index, int)]

    def rank(_candidates: Sequence[DraftResult], _end: int) -> Ranked:
        return Ranked(indices, Ranking.COSINE)

    return rank


def _with(value: Any, address: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a JSON value with the value at `address` exchanged."""
    if not address:
        return new
    key = address[0]
    if isinstance(value, Mapping):
        return {**value, key: _with(value[key], address[1:], new)}
    copy = list(value)
    position = int(key)
    copy[position] = _with(copy[position], address[1:], new)
    return copy
