"""What a router's classifier should read: the last user message, with just enough of what came before."""

from dataclasses import dataclass
from typing import Final

from pinch_server.core.conversation import Message, Speaker
from pinch_server.core.cuts import head_end

MESSAGE_CHARS: Final = 20_000
"""How much of the last user message a frame carries (characters): far more than a classifier reads."""
CONTEXT_CHARS: Final = 200
"""How much of the previous message a frame carries (characters)."""

_SAID: Final = (Speaker.USER, Speaker.MODEL)


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


def is_said(message: Message) -> bool:
    """Whether a message is of the user or the model and has a text that can be read."""
    return message.speaker in _SAID and any(part and not part.isspace() for part in message.prose)


def turn_frame(asked: Message | None, before: Message | None) -> TurnFrame:
    """Frames the current turn.

    Args:
        asked: The last message of the user with a text that can be read; None when there is none.
        before: The nearest one before it, of the user or the model; None when there is none.
    """
    if asked is None:
        return TurnFrame("", "", "")
    text = readable_text(asked)
    message = text[: head_end(text, MESSAGE_CHARS)] or text[:MESSAGE_CHARS]
    if before is None:
        return TurnFrame(message, "", message)
    text = readable_text(before)
    context = text[: head_end(text, CONTEXT_CHARS)]
    return TurnFrame(message, context, f"Context: {context}\n---\nMessage: {message}")
