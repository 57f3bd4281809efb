"""What of the conversation a filter's writer is told, in three sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_BYTES: Final = {"goal": 8_000, "recent": 24_000, "full": 400_000}
"""Most UTF-8 bytes of each mode."""


class ContextMode(StrEnum):
    """How much of the conversation is told."""

    GOAL = "goal"
    RECENT = "recent"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the conversation.

    Attributes:
        role: `user`, `assistant` or `tool`; others count as neither.
        text: What it says.
    """

    role: str
    text: str


def context_text(messages: Sequence[Said], mode: ContextMode, recent: int = 2) -> str:
    """The conversation as a prompt tells it, oldest first; too long a one is clipped from the front.

    `goal` is the first user message, the last assistant message and the last user message, up to 8,000 bytes;
    `recent` every user message and the last `recent` messages that are no tool's, up to 24,000; `full` all of
    it, up to 400,000.

    Args:
        messages: All of them, oldest first.
        mode: How much is told.
        recent: Messages of `recent`, beside the user's.
    """
    chosen = _CHOICES[mode](messages, recent)
    text = "\n\n".join(f"{messages[at].role}: {messages[at].text.strip()}" for at in sorted(chosen))
    return _clipped(text, _BYTES[mode])


def _goal(messages: Sequence[Said], _: int) -> set[int]:
    users = [at for at, said in enumerate(messages) if said.role == "user"]
    assistants = [at for at, said in enumerate(messages) if said.role == "assistant" and said.text.strip()]
    return {*users[:1], *users[-1:], *assistants[-1:]}


def _recent(messages: Sequence[Said], recent: int) -> set[int]:
    told = [at for at, said in enumerate(messages) if said.role != "tool" and said.text.strip()]
    return {at for at in told if messages[at].role == "user"} | set(
        told[len(told) - recent :] if recent else ()
    )


def _full(messages: Sequence[Said], _: int) -> set[int]:
    return {at for at, said in enumerate(messages) if said.text.strip()}


_CHOICES: Final = {ContextMode.GOAL: _goal, ContextMode.RECENT: _recent, ContextMode.FULL: _full}


def _clipped(text: str, most_bytes: int) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return encoded.decode()
    # Half a character at the cut is left out with the rest.
    tail = encoded[-most_bytes:].decode("utf-8", "ignore")
    return f"... {len(text) - len(tail):,} characters elided ...\n{tail}"
