"""What a router's classifier should read: the last user message, with just enough of what came before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pinch_server.core.conversation import Message, Speaker
from pinch_server.core.cuts import head_end

MESSAGE_CHARS: Final = 20_000
"""How much of the last user message a frame carries (characters): far more than a classifier reads."""
CONTEXT_CHARS: Final = 200
"""How much of the previous message a frame carries (characters)."""


@dataclass(frozen=True, slots=True)
class TurnFrame:
    """The current turn, framed.

    Attributes:
        message: The start of the text of the last user message that has any, at most 20,000 characters; empty
            when there is none.
        previous_context: The start of the nearest earlier user or assistant text, at most 200 characters;
            empty on the first turn. Never tool output, never the system prompt.
        framed: Both in one text, or the message alone when there is no context.
    """

    message: str
    previous_context: str
    framed: str


def readable_text(message: Message) -> str:
    """The readable text of a message: its prose parts, a line each."""
    return "\n".join(part for part in message.prose if part.strip())


def turn_frame(messages: Sequence[Message]) -> TurnFrame:
    """Frames the current turn of a full, untouched conversation."""
    found = ""
    for message in reversed(messages):
        if message.speaker not in (Speaker.USER, Speaker.MODEL):
            continue
        if found == "" and message.speaker is not Speaker.USER:
            continue
        text = readable_text(message)
        if not text:
            continue
        if found:
            context = text[: head_end(text, CONTEXT_CHARS)]
            return TurnFrame(found, context, f"Context: {context}\n---\nMessage: {found}")
        found = text[: head_end(text, MESSAGE_CHARS)] or text[:MESSAGE_CHARS]
    return TurnFrame(found, "", found)
