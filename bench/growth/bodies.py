"""Bodies of any number of tokens and of messages: the one is varied while the other stands still."""

from __future__ import annotations

import json
from typing import Final

from bench.conversations import generate
from bench.latency.payloads import BUDGET_TOKENS
from pinch.v1 import prune_pb2 as pb

MESSAGES_TOKENS: Final = 500_000
"""The size at which messages are varied (tokens, characters / 3)."""
_SOURCE_TOKENS: Final = 60_000
_SEED: Final = 11


def of_tokens(tokens: int, name: str) -> pb.PruneRequest:
    """A session of that size in the usual proportions (tokens, characters / 3)."""
    body = generate(_SEED, tokens=max(tokens, 2_000), images=False)
    return _request(body["messages"], name)


def of_messages(messages: int, name: str, tokens: int = MESSAGES_TOKENS) -> pb.PruneRequest:
    """So many messages, all together of one size (tokens): rounds of a call and its result."""
    rounds = max(1, (messages - 1) // 2)
    text = "".join(
        str(one["content"])
        for one in generate(_SEED, tokens=_SOURCE_TOKENS, images=False)["messages"]
        if one["role"] == "tool"
    )
    each = max(1, tokens * 3 // rounds - 60)
    text *= 1 + each // len(text)
    said: list[dict[str, object]] = [{"role": "user", "content": "Look at everything."}]
    for number in range(rounds):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        start = number * 997 % (len(text) - each + 1)
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "content": text[start : start + each]})
    return _request(said, name)


def _request(messages: list[dict[str, object]], name: str) -> pb.PruneRequest:
    messages[0]["content"] = f"{name}: {messages[0]['content']}"
    return pb.PruneRequest(
        body=pb.RequestBody(json=json.dumps({"messages": messages}, ensure_ascii=False).encode()),
        limits=pb.Limits(budget_tokens=BUDGET_TOKENS),
        reply_form=pb.REPLY_FORM_EDITS,
    )
