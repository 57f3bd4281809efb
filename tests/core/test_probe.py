"""The prefix probe: what of the previous payload repeats."""

from dataclasses import replace

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation, ImagePart
from pinch_server.core.counting import Chars3
from pinch_server.core.limits import Limits, TrimStyle
from pinch_server.core.planning import plan_pruning
from pinch_server.core.probe import Payload, PrefixMatch, compare, row_of
from tests.core.builders import Chat, round_of, said, user


def shipped(chat: Chat, previous: Payload | None, tools: tuple[str, ...] = ()) -> tuple[Payload, PrefixMatch]:
    """Compares a chat that ships as it is, three characters a token."""
    conversation = Conversation(read_chat(chat), tools)
    size = sum(len(str(message["content"])) for message in chat) // 3
    return compare(conversation, (), previous, final_tokens=size + 100, fixed_tokens=100)


def test_a_first_call_matches_nothing() -> None:
    """Without a previous payload all three numbers are 0 and there is no share."""
    assert shipped([user("a")], None)[1] == PrefixMatch()


def test_a_payload_that_grows_keeps_its_prefix() -> None:
    """A call that extends the last one matches all of it."""
    first, _ = shipped([user("u" * 300), said("a" * 300)], None)
    _, match = shipped([user("u" * 300), said("a" * 300), user("v" * 600)], first)
    assert match == PrefixMatch(2, 2, 300, 1.0)


def test_a_changed_message_ends_the_match() -> None:
    """Messages are matched from the start up to the first that differs."""
    first, _ = shipped([user("u" * 300), said("a" * 300), user("v" * 300)], None)
    _, match = shipped([user("u" * 300), said("b" * 300), user("v" * 300)], first)
    assert match.previous_messages == 3
    assert match.matching_messages == 1
    assert match.matching_tokens == 200
    assert match.share == 1 / 3


def test_other_tools_change_the_whole_prefix() -> None:
    """Tool definitions stand before the messages: with other ones nothing matches."""
    first, _ = shipped([user("u" * 300)], None, ("one",))
    assert shipped([user("u" * 300)], first, ("two",))[1] == PrefixMatch(1, 0, 0, 0.0)


def test_the_payload_is_compared_as_it_ships() -> None:
    """A trim that repeats matches; one that is new ends the match where it stands."""
    chat = [user("go"), *round_of("t0", "x" * 9_000), *round_of("t1", "y" * 300), said("ok"), user("next")]
    conversation = Conversation(read_chat(chat))
    limits = Limits(
        budget_tokens=1_500, keep_last_turns=1, keep_last_rounds=1, min_gain=0, trim_style=TrimStyle.PLAIN
    )
    plan = plan_pruning(conversation, limits, Chars3())
    assert [edit.message for edit in plan.edits] == [2]
    numbers = {"final_tokens": 1_000, "fixed_tokens": 0}
    whole, _ = compare(conversation, (), None, **numbers)
    trimmed, match = compare(conversation, plan.edits, whole, **numbers)
    assert match.matching_messages == 2
    later = replace(conversation, messages=(*conversation.messages, *read_chat([said("end")])))
    assert compare(later, plan.edits, trimmed, **numbers)[1].matching_messages == len(chat)


def test_a_placeholder_is_told_from_the_image_whose_place_it_takes() -> None:
    """An image that is left out changes its message, though the same words describe both."""
    url = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    (message,) = read_chat([{"role": "tool", "tool_call_id": "a", "content": [url]}])
    (part,) = message.results[0].parts
    assert isinstance(part, ImagePart)
    assert row_of(message) != row_of(message, {id(part): part.description})
