"""The longest real conversations, each asked about again and again as it grew, beside the echo."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.conversations import encode
from bench.corpus import Conversation
from bench.latency.pairs import Pair, Times, pairing, times_of
from bench.latency.payloads import BUDGET_TOKENS, REPLIES, Call, Reply
from bench.latency.servers import Measured
from bench.recall.shapes import call_points
from pinch.v1 import prune_pb2 as pb

MOST: Final = 3
"""Conversations that are measured."""
FORMS: Final[tuple[Reply, ...]] = ("edits", "full")
_TELLINGS: Final = 3


@dataclass(frozen=True, slots=True)
class RealCall:
    """What the next calls of one conversation cost.

    Attributes:
        conversation: The name of its file.
        dialect: The dialect of its body.
        reply: How the conversation comes back.
        tokens: The size of the last call (tokens).
        times: What the calls and their echoes took.
        shipped_tokens: What the last call ships (tokens): the budget is 50,000.
    """

    conversation: str
    dialect: str
    reply: Reply
    tokens: int
    times: Times
    shipped_tokens: int


def longest(found: Iterable[Conversation], most: int = MOST) -> list[Conversation]:
    """The longest of each dialect, then the longest of the others, until there are `most`."""
    by_size = sorted(found, key=lambda one: len(one.body), reverse=True)
    seen: set[str] = set()
    firsts = []
    for one in by_size:
        if one.format not in seen:
            seen.add(one.format)
            firsts.append(one)
    return [*firsts, *(one for one in by_size if one not in firsts)][:most]


def measure(
    echo: Measured,
    pinch: Measured,
    conversations: Sequence[Conversation],
    steps: int,
    done: Callable[[], None],
) -> Iterator[RealCall]:
    """Times the last calls of every conversation, calls and echoes in turn, each session told a few times.

    Args:
        echo: The floor.
        pinch: What is measured: one worker.
        conversations: Chat bodies of at least two calls.
        steps: Calls timed of each telling, where a conversation has that many.
        done: Called after every conversation and form of reply.
    """
    with pairing(echo, pinch) as pairs:
        for conversation in conversations:
            for reply in FORMS:
                taken: list[Pair] = []
                for number in range(_TELLINGS):
                    first, *later = calls(conversation, f"{reply} {number}", reply, steps + 1)
                    pairs.take(first)
                    taken += map(pairs.take, later)
                last = taken[-1].reply
                yield RealCall(
                    conversation=conversation.name.removesuffix(".json"),
                    dialect=str(conversation.format),
                    reply=reply,
                    tokens=last.stats.original_tokens,
                    times=times_of(taken),
                    shipped_tokens=last.measured.tokens,
                )
                done()


def calls(conversation: Conversation, telling: str, reply: Reply, most: int) -> Iterator[Call]:
    """The last calls of a conversation, oldest first: what stood before each answer of the model.

    Its first text begins with the telling, so that no call finds what another telling left in a cache.
    """
    body = json.loads(conversation.body)
    messages = _told(body["messages"], telling)
    for end in call_points(messages)[-most:]:
        request = pb.PruneRequest(
            limits=pb.Limits(budget_tokens=BUDGET_TOKENS, stability=pb.STABILITY_REPLAY),
            reply_form=REPLIES[reply],
        )
        request.context.session_id = f"{conversation.name} {telling}"
        request.body.json = encode({**body, "messages": messages[:end]})
        yield Call(request, request.body.json)


def _told(messages: Sequence[dict[str, Any]], telling: str) -> list[dict[str, Any]]:
    first, *rest = messages
    content = first["content"]
    if isinstance(content, str):
        return [{**first, "content": f"{telling}: {content}"}, *rest]
    return [{**first, "content": [{"type": "text", "text": f"{telling}: "}, *content]}, *rest]
