"""The policies of the economics yardstick: what others do, the original, and Pinch under several limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from bench.recall import orders
from bench.recall.orders import candidates_of, trimmed
from bench.recall.ours import (
    ORIGINAL_UNIFORM,
    PER_CALL_COSINE,
    PER_CALL_HYBRID,
    PER_CALL_LEXICAL,
    PINCH,
    PINCH_HYBRID,
    PINCH_LEXICAL,
    pinch_with,
)
from bench.recall.policies import Policy, policy
from bench.recall.shapes import Json, dialect_of, message_tokens, with_result
from pinch_server.core.limits import Stability

OUTSIZED_CHARS: Final = 20_000
CLEARED: Final = "[Old tool result content cleared]"
_CLEAR_KEPT: Final = 3
_EMPTY: Final = "-"
_TARGETS: Final = (0.3, 0.5, 0.7, 0.9)

_OPTIONS: Final = {
    "economic": "trigger=economic",
    "cap": "caps_on_arrival=true",
    "ledger": "ledger_share=0.02",
}


def unpruned(messages: list[Json], _budget_tokens: int) -> list[Json]:
    """Ships everything."""
    return messages


def oldest_first(messages: list[Json], budget_tokens: int) -> list[Json]:
    """Oldest first until the budget is met, all but the newest four results: a fixed window."""
    return orders.trim_in_order(messages, budget_tokens, orders.oldest)


def clear_all_but_3(messages: list[Json], budget_tokens: int) -> list[Json]:
    """Over the budget, clears every tool result but the newest three (Anthropic's context editing)."""
    dialect = dialect_of(messages)
    if sum(message_tokens(message, dialect) for message in messages) <= budget_tokens:
        return messages
    output = list(messages)
    for candidate in candidates_of(messages, dialect, _CLEAR_KEPT):
        if len(candidate.result.text) > len(CLEARED):
            output[candidate.message] = with_result(
                output[candidate.message], candidate.result.block, CLEARED
            )
    return output


def cap_on_arrival(messages: list[Json], _budget_tokens: int) -> list[Json]:
    """Keeps head and tail of every result over 20,000 characters from the first call that sees it."""
    output = list(messages)
    for candidate in candidates_of(messages, dialect_of(messages), 0):
        if len(candidate.result.text) > OUTSIZED_CHARS:
            text = trimmed(candidate.result)
            output[candidate.message] = with_result(output[candidate.message], candidate.result.block, text)
    return output


def read_once(messages: list[Json], budget_tokens: int) -> list[Json]:
    """Over the budget, leaves nothing of any result that the model has read.

    No pruner saves much more that leaves the other text alone, lets the model read each result once, and
    ships whole what fits the budget.
    """
    dialect = dialect_of(messages)
    if sum(message_tokens(message, dialect) for message in messages) <= budget_tokens:
        return messages
    read = max((index for index, one in enumerate(messages) if one.get("role") == "assistant"), default=0)
    output = list(messages)
    for candidate in candidates_of(messages, dialect, 0):
        if candidate.message < read:
            output[candidate.message] = with_result(output[candidate.message], candidate.result.block, _EMPTY)
    return output


UNPRUNED: Final = policy("none", unpruned)
"""The session as it was: what every other policy is held against."""


def _registered() -> Iterator[Policy]:
    yield UNPRUNED
    yield policy("uniform", ORIGINAL_UNIFORM)
    yield policy("per-call-cosine", PER_CALL_COSINE)
    yield policy("per-call-hybrid", PER_CALL_HYBRID)
    yield policy("per-call-lexical", PER_CALL_LEXICAL)
    yield policy("oldest-first", oldest_first)
    yield policy("clear-all-but-3", clear_all_but_3)
    yield policy("read-once", read_once)
    yield policy("cap-on-arrival", cap_on_arrival)
    if "replay" in set(Stability):
        for target in _TARGETS:
            yield policy(f"replay-{target:.0%}", pinch_with(f"stability=replay&target={target}"))
    yield policy("pinch", PINCH)
    for name, settings in _OPTIONS.items():
        yield policy(f"pinch-{name}", pinch_with(settings))
    yield policy("pinch-lexical", PINCH_LEXICAL)
    yield policy("pinch-hybrid", PINCH_HYBRID)


POLICIES: Final[Mapping[str, Policy]] = {made.name: made for made in _registered()}
"""The policies by name. `replay-50%` is Pinch with its low-water mark at that share of the budget."""
