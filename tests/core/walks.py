"""Whole sessions walked call by call, and what is looked at on the way: places, sizes, real histories."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import pytest

from bench.corpus import conversations
from pinch_server.core.conversation import Conversation, ImagePart, Message
from pinch_server.core.counting import CHARS_PER_TOKEN, Chars3
from pinch_server.core.event import Order, oldest_first
from pinch_server.core.history import CallPlan, plan_history
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Action, Edit
from pinch_server.formats.body import read_body

Place = tuple[int, int | None, int | None]
_DEPTH = {Action.CAPPED: 1, Action.ELIDED: 1, Action.OMITTED: 2}


def places(edits: Iterable[Edit]) -> dict[Place, Edit]:
    """Edits by the part that they change."""
    return {(edit.message, edit.block, edit.old.index): edit for edit in edits}


def walk(conversation: Conversation, limits: Limits, order: Order = oldest_first) -> list[CallPlan]:
    """The plan of every call."""
    return list(plan_history(conversation, limits, Chars3(), order=order))


def assert_contained(plans: Sequence[CallPlan]) -> None:
    """Each edit of a call stands in the next to the byte, or has gone deeper at an event told as new."""
    before: dict[Place, Edit] = {}
    for plan in plans:
        now = places(plan.edits)
        for place, old in before.items():
            kept = now[place]
            if kept.new != old.new:
                assert (kept.event_message, kept.is_new) == (plan.end, True)
                assert _DEPTH[kept.action] > _DEPTH[old.action]
            assert kept.is_new is (kept.event_message == plan.end)
        for place in now.keys() - before.keys():
            assert (now[place].event_message, now[place].is_new) == (plan.end, True)
        before = now


def shipped_sizes(messages: Sequence[Message], edits: Iterable[Edit]) -> list[int]:
    """What each message ships: a third of the characters of its texts, and its images (tokens)."""
    new = {id(edit.old): edit.new for edit in edits}
    return [
        sum(map(len, _texts(message, new))) // CHARS_PER_TOKEN + _images(message, new) for message in messages
    ]


def _texts(message: Message, new: dict[int, str]) -> Iterator[str]:
    yield from message.fixed
    for part in (part for result in message.results for part in result.parts):
        if id(part) in new:
            yield new[id(part)]
        elif not isinstance(part, ImagePart):
            yield part.text


def _images(message: Message, new: dict[int, str]) -> int:
    parts = [part for result in message.results for part in result.parts if isinstance(part, ImagePart)]
    return message.image_tokens + sum(part.tokens for part in parts if id(part) not in new)


@cache
def _real_sessions() -> list[tuple[str, Conversation]]:
    return [(one.name, read_body(one.body, one.format).conversation) for one in conversations()]


def real_sessions(least_messages: int = 0) -> list[tuple[str, Conversation]]:
    """Real sessions of so many messages, by name; the test is skipped where there are none."""
    found = [one for one in _real_sessions() if len(one[1].messages) >= least_messages]
    if not found:
        pytest.skip("the corpus is not here")
    return found
