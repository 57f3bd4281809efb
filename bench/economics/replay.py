"""A session replayed call by call under one policy: what ships each time, and what of it shipped before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from bench.recall.policies import Policy
from bench.recall.sessions import Session
from bench.recall.shapes import Json, call_points, message_tokens


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a provider.

    Attributes:
        tokens: Everything it ships, the fixed part included.
        shared_tokens: How much of that stands unchanged at the start of the call before it.
        extends: Whether it begins with the whole of that call, byte for byte; True for the first.
        follows_user: Whether a person spoke since the last call, so that it may come after a pause.
    """

    tokens: int
    shared_tokens: int
    extends: bool
    follows_user: bool


def replay(policy: Policy, session: Session, budget_tokens: int) -> tuple[Call, ...]:
    """Prunes the history before each run of model output and compares it with the payload before.

    Args:
        policy: The pruner.
        session: The whole conversation.
        budget_tokens: Its budget, fixed part included (tokens).
    """
    ends = call_points(session.messages)
    calls: list[Call] = []
    previous: list[_Shipped] = []
    start = 0
    payloads = policy.payloads(session.messages, ends, budget_tokens, session.fixed_tokens)
    for end, payload in zip(ends, payloads, strict=True):
        shipped = [_Shipped(message, message_tokens(message, session.dialect)) for message in payload]
        shared, extends = _shared(previous, shipped)
        follows_user = any(_is_spoken(message) for message in session.messages[start:end])
        total = session.fixed_tokens + sum(item.tokens for item in shipped)
        first = not calls
        calls.append(
            Call(total, 0 if first else session.fixed_tokens + shared, first or extends, follows_user)
        )
        previous, start = shipped, end
    return tuple(calls)


@dataclass(frozen=True, slots=True)
class _Shipped:
    message: Json
    tokens: int


def _shared(before: Sequence[_Shipped], now: Sequence[_Shipped]) -> tuple[int, bool]:
    """Tokens that both payloads begin with, and whether the earlier one is a prefix of the later."""
    tokens = 0
    for old, new in zip(before, now, strict=False):
        if old.message is not new.message and old.message != new.message:
            return tokens + _common_share(old, new), False
        tokens += new.tokens
    return tokens, len(before) <= len(now)


def _common_share(old: _Shipped, new: _Shipped) -> int:
    """Tokens that two different messages begin with."""
    before, now = json.dumps(old.message), json.dumps(new.message)
    differs = (index for index, (a, b) in enumerate(zip(before, now, strict=False)) if a != b)
    return int(new.tokens * next(differs, min(len(before), len(now))) / len(now))


def _is_spoken(message: Json) -> bool:
    if message.get("role") != "user":
        return False
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    return any(not (isinstance(block, dict) and block.get("type") == "tool_result") for block in blocks)
