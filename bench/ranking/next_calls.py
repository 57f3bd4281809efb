"""Questions from real conversations: which earlier results hold what the next call is about to name."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, Final

from bench.corpus import FOLDER, conversations
from bench.ranking.question import Question
from pinch_server.core.conversation import Conversation, TextPart
from pinch_server.core.ranking import ranking_query
from pinch_server.formats.body import read_body

LEAST_RESULTS: Final = 8
"""Earlier results a point needs."""
PER_CONVERSATION: Final = 4
"""Most points of one conversation."""

_NAME: Final = re.compile(r"[\w./:-]{5,}")


def next_calls(count: int, dice: random.Random) -> Iterator[Question]:
    """The query that the service would ask by, and the results that hold a value of the next call.

    A value counts when neither a user nor the model has written it before, so that it can only have been read
    in a result; the query holds nothing of the call itself.
    """
    bodies = list(conversations(FOLDER))
    dice.shuffle(bodies)
    found = 0
    for body in bodies:
        conversation = read_body(body.body, body.format).conversation
        calling = [at for at, message in enumerate(conversation.messages) if message.calls]
        # Most points name nothing that only a result held: try more than are wanted.
        tried = set(dice.sample(calling, min(4 * PER_CONVERSATION, len(calling))))
        for question in islice(_points(conversation, tried), PER_CONVERSATION):
            if found == count:
                return
            found += 1
            yield question


def _points(conversation: Conversation, tried: Collection[int]) -> Iterator[Question]:
    results: list[str] = []
    spoken = "\n".join(conversation.preamble)
    for at_message, message in enumerate(conversation.messages):
        if at_message in tried and len(results) >= LEAST_RESULTS:
            values = {name for call in message.calls for name in _names(call.arguments)}
            wanted = [name for name in sorted(values) if name not in spoken]
            holding = frozenset(at for at, text in enumerate(results) if any(name in text for name in wanted))
            if 0 < len(holding) <= len(results) // 2:
                yield Question(ranking_query(conversation.messages, at_message), tuple(results), holding)
        spoken += "\n".join(["", *message.prose, *(call.arguments for call in message.calls)])
        results += [
            "\n".join(part.text for part in result.parts if isinstance(part, TextPart))
            for result in message.results
        ]


def _names(arguments: str) -> set[str]:
    """The names and numbers in a call's short argument values."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return set()
    return {name for text in _texts(value) if len(text) < 300 for name in _NAME.findall(text)}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
