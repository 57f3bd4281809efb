"""Reading typed messages into the core's view."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import ImagePart, Message, OpaquePart, Part, Speaker, TextPart
from pinch_server.core.images import UNKNOWN_IMAGE_TOKENS
from pinch_server.core.limits import Limits
from pinch_server.rpc.typed import read_messages
from tests.rpc.conversations import PNG, messages, typed


def read_one(message: pb.ChatMessage) -> Message:
    return read_messages(pb.ChatMessages(messages=[message])).messages[0]


def text(part: Part) -> str:
    assert isinstance(part, TextPart)
    return part.text


def test_typed_messages_read_like_untyped_ones() -> None:
    """A typed conversation gives the core the very messages that the untyped one gives, addresses aside."""
    for typed_one, untyped in zip(read_messages(typed()).messages, read_chat(messages()), strict=True):
        assert (typed_one.speaker, typed_one.fixed, typed_one.prose) == (
            untyped.speaker,
            untyped.fixed,
            untyped.prose,
        )
        assert (typed_one.calls, typed_one.is_turn) == (untyped.calls, untyped.is_turn)
        for mine, theirs in zip(typed_one.results, untyped.results, strict=True):
            assert (mine.call_id, mine.tool, mine.is_error) == (theirs.call_id, theirs.tool, theirs.is_error)
            assert [text(part) for part in mine.parts] == [text(part) for part in theirs.parts]


@pytest.mark.parametrize(
    ("role", "speaker"),
    [
        ("user", Speaker.USER),
        ("assistant", Speaker.MODEL),
        ("tool", Speaker.TOOL),
        ("function", Speaker.TOOL),
        ("system", Speaker.OTHER),
        ("developer", Speaker.OTHER),
        ("", Speaker.OTHER),
        ("TOOL", Speaker.OTHER),
    ],
)
def test_roles(role: str, speaker: Speaker) -> None:
    """Only the four known roles speak; every other one is kept out of trimming and of turns."""
    message = read_one(pb.ChatMessage(role=role, content=[pb.ContentPart(text="x")]))
    assert message.speaker is speaker
    assert message.is_turn == (speaker is Speaker.USER)


def test_a_result_keeps_its_parts_in_their_places() -> None:
    """Texts, images and opaque blocks of a result keep their positions, and texts say where they stand."""
    parts = [
        pb.ContentPart(text="one"),
        pb.ContentPart(image=pb.Image(media_type="image/png", data=PNG)),
        pb.ContentPart(opaque_json=b'{"type":"x"}'),
        pb.ContentPart(),
        pb.ContentPart(text=""),
    ]
    message = read_one(pb.ChatMessage(role="tool", name="ls", tool_call_id="c", is_error=True, content=parts))
    (result,) = message.results
    assert (result.tool, result.call_id, result.is_error, result.block) == ("ls", "c", True, None)
    assert result.parts == (
        TextPart("one", (0, 0), 0),
        ImagePart(255, "[image omitted: 1x1 image/png]", (0, 1), 1),
        OpaquePart('{"type":"x"}'),
        OpaquePart(""),
        TextPart("", (0, 4), 4),
    )


@pytest.mark.parametrize(
    ("content", "is_turn"),
    [
        ([], False),
        ([pb.ContentPart(text="")], False),
        ([pb.ContentPart(text="hi")], True),
        ([pb.ContentPart(image=pb.Image(url="https://example.com"))], True),
        ([pb.ContentPart(opaque_json=b"{}")], True),
    ],
)
def test_a_user_message_is_a_turn_when_it_says_something(
    content: list[pb.ContentPart], is_turn: bool
) -> None:
    """An empty user message opens no turn; one with a text, an image or any block does."""
    assert read_one(pb.ChatMessage(role="user", content=content)).is_turn is is_turn


@pytest.mark.parametrize(
    "image",
    [
        pb.Image(),
        pb.Image(data=b""),
        pb.Image(data=b"no image"),
        pb.Image(url="https://example.com/a.png", media_type="image/png"),
        pb.Image(url="data:image/png;base64,!!!"),
    ],
)
def test_an_image_of_unknown_size_costs_what_unknown_images_cost(image: pb.Image) -> None:
    """An image whose header cannot be read still counts."""
    message = read_one(pb.ChatMessage(role="user", content=[pb.ContentPart(image=image)]))
    assert message.image_tokens == UNKNOWN_IMAGE_TOKENS


@given(st.binary(max_size=64))
def test_opaque_bytes_never_break_the_reading(data: bytes) -> None:
    """Opaque blocks count by their text whatever their bytes are, in results and elsewhere."""
    part = pb.ContentPart(opaque_json=data)
    elsewhere = read_one(pb.ChatMessage(role="user", content=[part]))
    inside = read_one(pb.ChatMessage(role="tool", content=[part]))
    text = data.decode("utf-8", "replace")
    assert elsewhere.fixed == (text,)
    assert inside.results[0].parts == (OpaquePart(text),)


def test_every_wire_limit_is_a_limit_of_the_core() -> None:
    """The wire and the core call each limit by the same name, which is how one becomes the other."""
    names = {field.name for field in pb.Limits.DESCRIPTOR.fields}
    operators_alone = {
        "omit_images",
        "placeholder_chars",
        "caps_on_arrival",
        "trigger",
        "ledger_share",
        "ledger_ceiling",
        "cache_write_multiplier",
        "cache_read_multiplier",
        "cache_expected_calls",
    }
    assert names == set(Limits.__dataclass_fields__) - operators_alone


def test_calls_count_by_name_and_arguments() -> None:
    """A model's tool calls ship with the message: their names and arguments are among its fixed texts."""
    arguments = json.dumps({"path": "x"})
    message = read_one(
        pb.ChatMessage(role="assistant", tool_calls=[pb.ToolCall(id="c", name="read", arguments=arguments)])
    )
    assert message.fixed == ("read", arguments)
    assert (message.calls[0].id, message.calls[0].name) == ("c", "read")
