"""A conversation as prompts tell it: what was said apart from what tools gave."""

from collections.abc import Iterator, Sequence
from typing import Final

from pinch_server.core.conversation import Message, Speaker, TextPart
from pinch_server.core.turn_frame import readable_text
from pinch_server.extract.prompts.context import ContextMode, Said, context_text

_ROLES: Final = {Speaker.USER: "user", Speaker.MODEL: "assistant", Speaker.TOOL: "tool"}
_TOOL: Final = "tool"


def told_text(messages: Sequence[Message], mode: ContextMode, newest: int) -> str:
    """What a prompt tells of a conversation.

    Args:
        messages: All of them, oldest first.
        mode: How much is told.
        newest: Newest messages of `recent`, beside the user's.
    """
    return context_text(list(_said(messages, with_results=mode is ContextMode.FULL)), mode, newest)


def _said(messages: Sequence[Message], *, with_results: bool) -> Iterator[Said]:
    """Each message; what a tool gave is a tool's word, also where a user's text stands beside it."""
    for message in messages:
        text = readable_text(message)
        if text or message.speaker is not Speaker.TOOL:
            yield Said(_ROLES.get(message.speaker, "other"), text)
        if with_results:
            parts = (part for result in message.results for part in result.parts)
            results = "\n".join(part.text for part in parts if isinstance(part, TextPart))
            if results:
                yield Said(_TOOL, results)
