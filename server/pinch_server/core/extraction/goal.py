"""What a conversation is about, in its own words: enough to tell what of a result may matter."""

from collections.abc import Sequence
from typing import Final

from pinch_server.core.conversation import Message, Speaker
from pinch_server.core.turn_frame import readable_text

GOAL_CHARS: Final = 8_000
"""Most of it (code points)."""


def goal_text(messages: Sequence[Message]) -> str:
    """The first user text, the last answer and the last user text, each once."""
    said = [(index, m, readable_text(m)) for index, m in enumerate(messages) if m.prose]
    users = [index for index, m, text in said if m.speaker is Speaker.USER and text]
    answers = [index for index, m, text in said if m.speaker is Speaker.MODEL and text]
    chosen = sorted({*users[:1], *answers[-1:], *users[-1:]})
    share = GOAL_CHARS // max(1, len(chosen))
    texts = {index: text for index, _, text in said}
    return "\n".join(texts[index][:share] for index in chosen)
