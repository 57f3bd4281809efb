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
_LATER_CALLS: Final = 5

Messages = list[dict[str, object]]


def of_tokens(tokens: int) -> Messages:
    """A session of that size in the usual proportions (tokens, characters / 3)."""
    said: Messages = generate(_SEED, tokens=max(tokens, 2_000), images=False)["messages"]
    return said


def of_messages(messages: int, tokens: int = MESSAGES_TOKENS) -> Messages:
    """So many messages, all together of one size (tokens): rounds of a call and its result."""
    rounds = max(1, (messages - 1) // 2)
    text = "".join(
        str(one["content"])
        for one in generate(_SEED, tokens=_SOURCE_TOKENS, images=False)["messages"]
        if one["role"] == "tool"
    )
    each = max(1, tokens * 3 // rounds - 60)
    text *= 1 + each // len(text)
    said: Messages = [{"role": "user", "content": "Look at everything."}]
    for number in range(rounds):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        start = number * 997 % (len(text) - each + 1)
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "content": text[start : start + each]})
    return said


def growing(said: Messages) -> list[Messages]:
    """The last calls of a session: its history at each, of which the first is the shortest."""
    answers = [
        index for index in range(1, len(said)) if _is_answer(said[index]) and not _is_answer(said[index - 1])
    ]
    return [said[:end] for end in (*answers[-_LATER_CALLS:], len(said))]


def _is_answer(message: dict[str, object]) -> bool:
    return message["role"] == "assistant"


def request(said: Messages, name: str) -> pb.PruneRequest:
    """The call that ships a history, under a name that no other session's begins with."""
    opening = {**said[0], "content": f"{name}: {said[0]['content']}"}
    body = json.dumps({"messages": [opening, *said[1:]]}, ensure_ascii=False).encode()
    return pb.PruneRequest(
        body=pb.RequestBody(json=body),
        limits=pb.Limits(budget_tokens=BUDGET_TOKENS),
        reply_form=pb.REPLY_FORM_EDITS,
    )
