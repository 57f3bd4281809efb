"""A request and a reply as their bytes, as far as that spares decoding what is known and encoding it again.

Protobuf's encoding is simple enough to find a field in it without decoding the others. Whatever is not of the
common kind is left to protobuf, which then also says what is wrong with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pinch.v1 import prune_pb2 as pb

_CHAT: Final = pb.PruneRequest.CHAT_FIELD_NUMBER
_BODY: Final = pb.PruneRequest.BODY_FIELD_NUMBER
_JSON: Final = pb.RequestBody.JSON_FIELD_NUMBER
_MESSAGES: Final = pb.ChatMessages.MESSAGES_FIELD_NUMBER
_VARINT, _LENGTH = 0, 2
_LONGEST_VARINT: Final = 5


class SplitRequest:
    """A PruneRequest without its conversation, which is there as it was encoded.

    Attributes:
        rest: The request; without what is in `chat` or in `json`.
        chat: The encoded typed messages; None where they are in the rest, or there are none.
        json: The body; None where it is in the rest, or there is none.
    """

    __slots__ = ("_received", "chat", "json", "rest")

    def __init__(
        self, received: bytes, rest: pb.PruneRequest, chat: bytes | None = None, json: bytes | None = None
    ) -> None:
        self._received = received
        self.rest = rest
        self.chat = chat
        self.json = json

    @classmethod
    def of(cls, request: pb.PruneRequest) -> "SplitRequest":
        """A request that is decoded already."""
        return cls(b"", request)

    @classmethod
    def decode(cls, received: bytes) -> "SplitRequest":
        """Decodes a request.

        Raises:
            google.protobuf.message.DecodeError: It cannot be read; the typed messages are looked at later.
        """
        place = _conversation(received)
        if place is None:
            return cls(received, pb.PruneRequest.FromString(received))
        number, tag, start, end = place
        rest = pb.PruneRequest.FromString(received[:tag] + received[end:])
        if number == _CHAT:
            return cls(received, rest, chat=received[start:end])
        found = _json(received, start, end)
        if found is None:
            return cls(received, pb.PruneRequest.FromString(received))
        json_tag, json_start = found
        rest.body.MergeFromString(received[start:json_tag])
        return cls(received, rest, json=received[json_start:end])

    @property
    def size(self) -> int:
        """Its size (bytes); 0 when it came decoded."""
        return len(self._received)

    def whole(self) -> pb.PruneRequest:
        """The request with all that it has."""
        is_split = self.chat is not None or self.json is not None
        return pb.PruneRequest.FromString(self._received) if is_split else self.rest


@dataclass(frozen=True)
class Chat:
    """Typed messages, decoded when they are asked for.

    Attributes:
        encoded: Their bytes.
    """

    encoded: bytes

    @cached_property
    def decoded(self) -> pb.ChatMessages:
        """The messages."""
        return pb.ChatMessages.FromString(self.encoded)


def message_places(encoded: bytes, start: int = 0) -> list[tuple[int, int]] | None:
    """Where each message of encoded ChatMessages starts and ends, tags included; None where there is more.

    Args:
        encoded: The ChatMessages.
        start: Where to begin: the end of a message.
    """
    places: list[tuple[int, int]] = []
    try:
        for number, kind, tag, _, end in _fields(encoded, start):
            if (number, kind) != (_MESSAGES, _LENGTH):
                return None
            places.append((tag, end))
    except ValueError:
        return None
    return places


def _conversation(received: bytes) -> tuple[int, int, int, int] | None:
    """Where the conversation stands, when there is exactly one.

    Returns:
        The number of its field, and where its tag, its value and its end are.
    """
    found: tuple[int, int, int, int] | None = None
    try:
        for number, kind, tag, start, end in _fields(received, 0):
            if number in (_CHAT, _BODY):
                if found is not None or kind != _LENGTH:
                    return None
                found = number, tag, start, end
    except ValueError:
        return None
    return found


def _json(received: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Where the tag and the value of a body's JSON are, when it is the body's last field and the only one."""
    last: tuple[int, int] | None = None
    try:
        for number, kind, tag, value, field_end in _fields(received, start, end):
            if number == _JSON and (last is not None or kind != _LENGTH):
                return None
            last = (tag, value) if number == _JSON and field_end == end else None
            if number == _JSON and last is None:
                return None
    except ValueError:
        return None
    return last


def _fields(encoded: bytes, at: int, size: int = -1) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of a message: number, wire type, where its tag, its value and its end are.

    Raises:
        ValueError: The message ends early, or has a field of a wire type that none of ours has.
    """
    size = len(encoded) if size < 0 else size
    while at < size:
        tag = at
        head, at = encoded[at], at + 1
        kind = head & 7
        if kind == _LENGTH:
            length, start = _varint(encoded, at)
            at = start + length
        elif kind == _VARINT:
            start = at
            _, at = _varint(encoded, at)
        else:
            raise ValueError("an unknown wire type")
        # Each of our fields has a tag of one byte.
        if at > size or not 8 <= head < 0x80:
            raise ValueError("the message ends early, or has a field of no known number")
        yield head >> 3, kind, tag, start, at


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    """The number that starts at `at`, and where it ends."""
    value = shift = 0
    for place in range(at, min(at + _LONGEST_VARINT, len(encoded))):
        byte = encoded[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise ValueError("a number has no end")
