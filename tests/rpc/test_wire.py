"""Requests split on the wire: what protobuf says of them, and answers that are the same whatever is kept."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.counting import Chars3
from pinch_server.core.limits import Limits
from pinch_server.formats.recent import RecentHistories
from pinch_server.rpc.convert import read_request, write_reply
from pinch_server.rpc.typed import read_chat, read_messages
from pinch_server.rpc.wire import SplitRequest, message_places
from tests.recent_calls import Remembering

MIB = 1024 * 1024
many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
texts = st.sampled_from(["", "ok", "x" * 5_000, "src/app.py:42: error\n" * 300, "漢字" * 2_500, "é"])
parts = st.one_of(
    texts.map(lambda text: pb.ContentPart(text=text)),
    st.just(pb.ContentPart(opaque_json=b'{"a":1}')),
    st.just(pb.ContentPart(image=pb.Image(url="https://example.org/a.png"))),
    st.just(pb.ContentPart()),
)
messages = st.builds(
    lambda role, content, call, name: pb.ChatMessage(
        role=role,
        content=content,
        tool_call_id=call if role == "tool" else "",
        tool_calls=[pb.ToolCall(id=call, name=name, arguments="{}")] if role == "assistant" else [],
    ),
    st.sampled_from(["user", "assistant", "tool", "tool", "odd"]),
    st.lists(parts, max_size=3),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["ls", "grep"]),
)
chats = st.lists(messages, max_size=12).map(lambda chat: pb.ChatMessages(messages=chat))
requests = st.builds(
    lambda chat, body, limits, session: pb.PruneRequest(
        chat=chat, body=body, limits=limits, context=pb.RequestContext(session_id=session)
    ),
    st.none() | chats,
    st.none() | st.builds(pb.RequestBody, format=st.sampled_from([0, 1, 99]), json=st.binary(max_size=40)),
    st.none() | st.builds(pb.Limits, budget_tokens=st.integers(0, 9)),
    st.sampled_from(["", "s"]),
)


def replied(by: Remembering, received: bytes) -> pb.PruneResponse:
    """The reply to a request, but for its id."""
    asked = read_request(SplitRequest.decode(received), by.decider.recent)
    written: list[pb.PruneResponse] = []
    by.decider.decide(asked.call, written=lambda answer: written.append(write_reply(asked, answer).whole()))
    (reply,) = written
    reply.decision_id = ""
    return reply


def whole(split: SplitRequest) -> pb.PruneRequest:
    """A split request put together again."""
    request = pb.PruneRequest()
    request.CopyFrom(split.rest)
    if split.chat is not None:
        request.chat.MergeFromString(split.chat)
        request.chat.SetInParent()
    if split.json is not None:
        request.body.json = split.json
        request.body.SetInParent()
    return request


@many
@given(requests, st.data())
def test_a_request_is_split_as_protobuf_reads_it(request: pb.PruneRequest, data: st.DataObject) -> None:
    """Whatever the bytes are, the parts make the message that protobuf reads, or neither can be read."""
    received = bytearray(request.SerializeToString())
    for _ in range(data.draw(st.integers(0, 2))):
        if received:
            place = data.draw(st.integers(0, len(received) - 1))
            received[place] = data.draw(st.integers(0, 255))
    received += data.draw(st.sampled_from([b"", b"\x0a\x00", b"\x12\x02\x08\x01", b"\xff", b"\x98\x06\x01"]))
    try:
        wanted = pb.PruneRequest.FromString(bytes(received))
    except DecodeError:
        with pytest.raises(DecodeError):
            whole(SplitRequest.decode(bytes(received)))
        return
    split = SplitRequest.decode(bytes(received))
    assert whole(split) == wanted == split.whole()


@many
@given(chats, st.lists(st.integers(0, 12), max_size=4))
def test_typed_messages_are_read_the_same_whatever_is_kept(chat: pb.ChatMessages, ends: list[int]) -> None:
    """Messages known from an earlier call and new ones make what all of them make when read at once."""
    recent = RecentHistories(Chars3())
    for end in [*sorted(ends), 12, 12]:
        told = pb.ChatMessages(messages=chat.messages[:end])
        conversation, history = read_chat(told.SerializeToString(), recent)
        assert conversation == read_messages(told)
        assert history is not None
        recent.put(history)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chats, st.lists(st.integers(1, 12), max_size=4), st.sampled_from([1, 2]))
def test_typed_answers_are_the_same_whatever_is_kept(
    chat: pb.ChatMessages, ends: list[int], reply_form: int
) -> None:
    """Each call of a typed session gets the same reply to the byte, but for its id, kept or not."""
    limits = Limits(budget_tokens=1_500, keep_last_turns=1, keep_last_rounds=1)
    everything, nothing = Remembering(64 * MIB, limits), Remembering(0, limits)
    for end in [*sorted(ends), 12, 12]:
        request = pb.PruneRequest(chat=pb.ChatMessages(messages=chat.messages[:end]))
        request.reply_form = reply_form
        request.context.session_id = "s"
        received = request.SerializeToString()
        assert replied(everything, received) == replied(nothing, received)


def test_what_is_no_message_is_left_to_protobuf() -> None:
    """Fields that are no messages, and messages that end early, give no places."""
    encoded = pb.ChatMessages(messages=[pb.ChatMessage(role="user")]).SerializeToString()
    assert message_places(encoded) == [(0, len(encoded))]
    assert message_places(encoded + b"\x10\x01") is None
    assert message_places(encoded[:-1]) is None
    assert message_places(b"") == []
