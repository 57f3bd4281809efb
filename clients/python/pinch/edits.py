"""Checks the edits of a reply and applies them to a copy (C6, C8).

Every edit is checked before any is applied: a reply is used whole or not at all.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NoReturn

from pinch.errors import ReplyError
from pinch.v1.prune_pb2 import ChatMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinch.v1.prune_pb2 import ContentPart, Edit


def apply_byte_edits(body: bytes, edits: Iterable[Edit]) -> bytes:
    """Replaces byte ranges of a request body.

    Args:
        body: The request body as it was sent.
        edits: Edits in the body form, ascending by offset and not overlapping.

    Returns:
        The edited body; every byte outside the edits is the same.

    Raises:
        ReplyError: An edit is out of order, overlaps the one before, leaves the body, was made for other
            bytes than these, replaces none, or puts anything but one JSON value there.
    """
    view = memoryview(body)
    pieces: list[bytes | memoryview] = []
    position = 0
    for number, edit in enumerate(edits):
        start, end = edit.offset, edit.offset + edit.length
        if edit.length <= 0 or end > len(body):
            raise ReplyError(f"edit {number} replaces nothing, or leaves the body of {len(body)} bytes")
        if start < position:
            raise ReplyError(f"edit {number} is out of order or overlaps the one before")
        if sha256(view[start:end]).digest() != edit.replaced_sha256:
            raise ReplyError(f"edit {number} was made for other bytes")
        if not _is_json(edit.replacement):
            raise ReplyError(f"edit {number} puts something there that is no JSON value")
        pieces += (view[position:start], edit.replacement)
        position = end
    pieces.append(view[position:])
    return b"".join(pieces)


def apply_part_edits(messages: Sequence[ChatMessage], edits: Iterable[Edit]) -> list[ChatMessage]:
    """Replaces content parts of typed messages.

    Args:
        messages: The messages as they were sent; never changed.
        edits: Edits in the typed form, ascending by message and part.

    Returns:
        A new list, which shares the untouched messages with the old one.

    Raises:
        ReplyError: An edit is out of order, names no existing part, carries no replacement or an empty one,
            or was made for another part than this.
    """
    edited = list(messages)
    last = (-1, -1)
    for number, edit in enumerate(edits):
        place = (edit.message_index, edit.part_index)
        if not (edit.HasField("part_index") and edit.replacement_part.WhichOneof("part")):
            raise ReplyError(f"edit {number} names no part or no replacement")
        if place <= last:
            raise ReplyError(f"edit {number} is out of order or repeats a part")
        if not 0 <= edit.message_index < len(messages):
            raise ReplyError(f"edit {number} leaves the conversation of {len(messages)} messages")
        content = messages[edit.message_index].content
        if not 0 <= edit.part_index < len(content):
            raise ReplyError(f"edit {number} leaves its message of {len(content)} parts")
        if sha256(_identity(content[edit.part_index])).digest() != edit.replaced_sha256:
            raise ReplyError(f"edit {number} was made for another part")
        if edit.message_index != last[0]:
            copied = ChatMessage()
            copied.CopyFrom(messages[edit.message_index])
            edited[edit.message_index] = copied
        edited[edit.message_index].content[edit.part_index].CopyFrom(edit.replacement_part)
        last = place
    return edited


def _is_json(value: bytes) -> bool:
    """Whether some bytes are one JSON value."""
    try:
        _DECODER.decode(value.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)
"""One for all: `json.loads` makes a new one for each call that has an option."""


def _identity(part: ContentPart) -> bytes:
    """The bytes by which an edit recognises the part that it replaces."""
    if part.HasField("image"):
        return part.image.data or part.image.url.encode()
    return part.opaque_json if part.HasField("opaque_json") else part.text.encode()
