"""The prefix probe over whole sessions, against a comparison of the very messages that ship."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from bench.corpus import conversations
from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Chars3
from pinch_server.core.event import oldest_first
from pinch_server.core.limits import Limits, Stability
from pinch_server.core.planning import plan_pruning
from pinch_server.core.probe import Payload, PrefixMatch, compare
from pinch_server.core.replay import call_points
from pinch_server.formats.body import byte_edits, read_body
from pinch_server.formats.json_body import splice
from tests.core.builders import Chat
from tests.core.strategies import chats, limits_of
from tests.core.walks import shipped_sizes, walk

DIGEST_BYTES = 8


def common(before: list[Any], now: list[Any]) -> int:
    """Messages from the start that are the same in both, by their words alone."""
    same = 0
    for old, new in zip(before, now, strict=False):
        if json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
            break
        same += 1
    return same


def test_real_sessions() -> None:
    """Call after call the three integers are those that a comparison of the JSON that ships gives."""
    found = [one for one in conversations() if one.body.count(b'"role"') > 20][::9]
    if not found:
        pytest.skip("the corpus is not here")
    broken = 0
    for one in found:
        reading = read_body(one.body, one.format)
        preamble = len(reading.conversation.messages) - len(json.loads(one.body)["messages"])
        previous, earlier = None, None
        for plan in walk(reading.conversation, Limits(budget_tokens=20_000)):
            prefix = replace(reading.conversation, messages=reading.conversation.messages[: plan.end])
            edits = [edit for _, edit in byte_edits(reading, plan.edits)]
            shipped = json.loads(splice(one.body, edits))["messages"][: plan.end - preamble]
            sizes = shipped_sizes(prefix.messages, plan.edits)
            fixed = plan.final_tokens - sum(sizes)
            payload, match = compare(
                prefix, plan.edits, previous, final_tokens=plan.final_tokens, fixed_tokens=fixed
            )
            if earlier is not None:
                matching = preamble + common(earlier, shipped)
                assert (match.previous_messages, match.matching_messages) == (
                    preamble + len(earlier),
                    matching,
                )
                # Its tokens are a share by weight: a floor a message apart.
                assert abs(match.matching_tokens - fixed - sum(sizes[:matching])) <= len(sizes)
                broken += matching < len(earlier)
            assert len(payload.digests) == DIGEST_BYTES * plan.end
            previous, earlier = payload, shipped
    assert broken > 0


@settings(max_examples=60)
@given(chats(), limits_of())
def test_generated_sessions(chat: Chat, limits: Limits) -> None:
    """Whatever the history, as many messages match as are the same in what ships."""
    limits = replace(limits, stability=Stability.REPLAY)
    messages = read_chat(chat)
    previous: Payload | None = None
    before: list[Any] = []
    for end in call_points(messages):
        conversation = Conversation(messages[:end])
        plan = plan_pruning(conversation, limits, Chars3(), order=oldest_first)
        shipped = [[index, message, {}] for index, message in enumerate(chat[:end])]
        for edit in plan.edits:
            shipped[edit.message][2][str(edit.old.index)] = edit.new  # type: ignore[index]
        final = plan.stats.final_tokens
        payload, match = compare(conversation, plan.edits, previous, final_tokens=final, fixed_tokens=0)
        if previous is None:
            assert match == PrefixMatch()
        else:
            assert match.previous_messages == len(before)
            assert match.matching_messages == common(before, shipped)
            assert 0 <= match.matching_tokens <= final
        previous, before = payload, shipped
