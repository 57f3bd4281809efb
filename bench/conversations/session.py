"""A session in no provider's form: what was said, called and answered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

CHARS_PER_TOKEN = 3
"""The estimate's ratio: characters in one token."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: ``data`` is its base64 text."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool the model may call; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call; ``id`` is unique in the session and has no dialect's prefix."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call gave. ``text`` may be empty; ``image`` is dropped by dialects without images there."""

    call: ToolCall
    text: str
    is_error: bool = False
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user wrote: a turn begins here."""

    text: str
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model said and called: at least one of ``text`` and ``calls`` is not empty.

    ``reasoning`` stands in the dialects that carry it, with ``signature`` as its seal.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The answers to all calls of the assistant message before, in the order of the calls."""

    results: tuple[ToolResult, ...]


Message: TypeAlias = UserMessage | AssistantMessage | ToolResults


@dataclass(frozen=True, slots=True)
class Session:
    """A whole conversation as an agent would send it at one moment."""

    system: str
    tools: tuple[ToolDefinition, ...]
    messages: tuple[Message, ...]

    def texts(self) -> Iterator[str]:
        """Every text that all dialects ship, in order: definitions, system, messages, calls, results."""
        for tool in self.tools:
            yield tool.name + tool.description + arguments_text(tool.parameters)
        yield self.system
        for message in self.messages:
            yield from message_texts(message)

    @property
    def tokens(self) -> int:
        """The size as estimated tokens: characters of all texts, divided by three, rounded down."""
        return sum(map(len, self.texts())) // CHARS_PER_TOKEN


def message_texts(message: Message) -> Iterator[str]:
    """The texts of one message which all dialects ship (reasoning is left out: not all carry it)."""
    if isinstance(message, ToolResults):
        for result in message.results:
            yield result.text
        return
    yield message.text
    if isinstance(message, AssistantMessage):
        for call in message.calls:
            yield call.name
            yield arguments_text(call.arguments)


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """``arguments`` as compact JSON, as a model writes them."""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
