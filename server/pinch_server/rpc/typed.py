"""Typed messages: read into the core's view by the rules of OpenAI-shaped chats, and edited part by part.

An address here is the index of the message and the index of the part in its content.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.chat import read_image_url
from pinch_server.core.conversation import (
    Conversation,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    Speaker,
    TextPart,
    ToolCall,
    ToolResult,
)
from pinch_server.core.images import (
    HEADER_BYTES,
    ImageRule,
    image_description,
    image_size,
    image_tokens,
)
from pinch_server.core.plan import Edit
from pinch_server.core.probe import head_of
from pinch_server.core.tally import Tally
from pinch_server.formats.recent import Beside, History, RecentHistories
from pinch_server.rpc.wire import Chat, message_places

_TYPED: Final = "typed"
_NOTHING_BESIDE: Final = Beside(Conversation(()), head_of(Conversation(())))
_SPEAKERS: Final = {
    "user": Speaker.USER,
    "assistant": Speaker.MODEL,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}


def read_messages(chat: pb.ChatMessages) -> Conversation:
    """Reads typed messages; a role or part that is not understood counts and stays untouched."""
    return Conversation(tuple(_read_message(message, index) for index, message in enumerate(chat.messages)))


def read_chat(encoded: bytes, recent: RecentHistories) -> tuple[Conversation, History | None]:
    """Reads encoded typed messages, those that are known from an earlier call without decoding them.

    Args:
        encoded: The ChatMessages.
        recent: The histories that were read last.

    Returns:
        What they say, and the history for the next call; None where nothing is to be kept.

    Raises:
        google.protobuf.message.DecodeError: They cannot be read.
    """
    found = recent.find(_TYPED, encoded) if recent.is_on else None
    known = found[1] if found is not None else 0
    start = found[0].ends[known - 1] if found is not None else 0
    places = message_places(encoded, start) if recent.is_on else None
    if places is None:
        return read_messages(pb.ChatMessages.FromString(encoded)), None
    history = (
        found[0].going_on(known, encoded)
        if found is not None
        else History(_TYPED, encoded, _NOTHING_BESIDE, Tally(recent.counter))
    )
    history.starts.extend(place for place, _ in places)
    history.ends.extend(end for _, end in places)
    history.facts.extend([0] * len(places))
    fresh = pb.ChatMessages.FromString(encoded[start:]).messages
    history.tally.extend(_read_message(message, known + index) for index, message in enumerate(fresh))
    return Conversation(tuple(history.tally.messages)), history


def _read_message(message: pb.ChatMessage, index: int) -> Message:
    speaker = _SPEAKERS.get(message.role, Speaker.OTHER)
    if speaker is Speaker.TOOL:
        result = ToolResult(
            call_id=message.tool_call_id or None,
            tool=message.name or None,
            is_error=message.is_error,
            parts=tuple(_read_part(part, index, place) for place, part in enumerate(message.content)),
        )
        return Message(speaker, results=(result,))
    fixed: list[str] = []
    prose: list[str] = []
    images = 0
    for part in message.content:
        text = part.text
        if text:
            fixed.append(text)
            prose.append(text)
            continue
        kind = part.WhichOneof("part")
        if kind == "image":
            images += _read_image(part.image)[0]
        elif kind == "opaque_json":
            fixed.append(_opaque_text(part))
    calls: tuple[ToolCall, ...] = ()
    if speaker is Speaker.MODEL and message.tool_calls:
        calls = tuple(
            ToolCall(call.id or None, call.name or None, call.arguments) for call in message.tool_calls
        )
        for call in calls:
            fixed.extend((call.name or "", call.arguments))
    # One empty text is how the empty string of an untyped message arrives here: it says nothing.
    is_turn = speaker is Speaker.USER and (bool(fixed or images) or len(message.content) > 1)
    return Message(speaker, tuple(fixed), tuple(prose), calls, (), images, is_turn)


def _read_part(part: pb.ContentPart, message: int, place: int) -> Part:
    text = part.text
    kind = "text" if text else part.WhichOneof("part")
    if kind == "text":
        return TextPart(text, (message, place), place)
    if kind == "image":
        return ImagePart(*_read_image(part.image), (message, place), place)
    return OpaquePart(_opaque_text(part))


def _opaque_text(part: pb.ContentPart) -> str:
    return part.opaque_json.decode("utf-8", "replace")


def _read_image(image: pb.Image) -> tuple[int, str]:
    """Tokens and description of an image, from its header where the bytes are at hand."""
    media_type = image.media_type or "image"
    if image.HasField("data"):
        size = image_size(base64.b64encode(image.data[:HEADER_BYTES]).decode("ascii"))
        return image_tokens(size, ImageRule.OPENAI), image_description(size, media_type)
    tokens, description = read_image_url(image.url)
    if not image.url.startswith("data:"):
        description = image_description(None, media_type)
    return tokens, description


def edit_messages(chat: pb.ChatMessages, edits: Sequence[Edit]) -> None:
    """Puts the new text of every edit in its place.

    Args:
        chat: A copy of the messages that the edits were planned on; changed in place.
        edits: Edits with the addresses that `read_messages` gave.
    """
    for edit in edits:
        _part_of(chat, edit).text = edit.new


def replaced_sha256(chat: Chat, edit: Edit) -> bytes:
    """The receipt of an edit: the digest of the old text in UTF-8, or of an image's bytes or address."""
    if isinstance(edit.old, TextPart):
        return hashlib.sha256(edit.old.text.encode()).digest()
    image = _part_of(chat.decoded, edit).image
    return hashlib.sha256(image.data or image.url.encode()).digest()


def _part_of(chat: pb.ChatMessages, edit: Edit) -> pb.ContentPart:
    message, place = edit.old.address or ()
    return chat.messages[int(message)].content[int(place)]
