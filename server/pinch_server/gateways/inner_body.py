"""A provider's body that stands inside a gateway's own JSON, taken out and put back byte for byte."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from pinch_server.formats.json_body import ByteEdit, splice

ABSENT: Final = msgspec.Raw(b"null")
"""A value that is not there."""


@dataclass(frozen=True, slots=True)
class Rows:
    """OpenAI-shaped messages without the body that they came from.

    Attributes:
        json: A body made around them.
        start: Where the messages start in it.
        tail: How many bytes stand behind them.
    """

    json: bytes
    start: int
    tail: int

    @classmethod
    def of(cls, messages: msgspec.Raw, tools: msgspec.Raw = ABSENT) -> "Rows":
        """A body with these messages, and with the tools that the model is told of."""
        head = b'{"messages":'
        end = b"}" if tools == ABSENT else b',"tools":%b}' % bytes(tools)
        return cls(head + bytes(messages) + end, len(head), len(end))

    def edited(self, edits: Sequence[ByteEdit]) -> bytes:
        """The messages as they are after the edits, all of which are in them."""
        return splice(self.json, edits)[self.start : -self.tail]
