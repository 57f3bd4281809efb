"""Messages of the two shapes a pruner may be given: what they say, what they weigh, their tool results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import ImagePart, Message, Speaker, TextPart
from pinch_server.core.counting import CHARS_PER_TOKEN
from pinch_server.formats.anthropic import ANTHROPIC

Json = dict[str, Any]

_SIZES_KEPT: Final = 50_000
_sizes: dict[int, tuple[Json, int]] = {}


class Dialect(Enum):
    """Whose shape messages have."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


@dataclass(frozen=True, slots=True)
class Said:
    """The texts of one message, by where they come from.

    Attributes:
        results: Texts of its tool results.
        prose: Everything else readable in it: text, reasoning, names and argument values of calls.
        arguments: The argument values of its calls alone, decoded.
        is_model: Whether the model wrote it.
    """

    results: tuple[str, ...]
    prose: tuple[str, ...]
    arguments: tuple[str, ...]
    is_model: bool


@dataclass(frozen=True, slots=True)
class Result:
    """One tool result of a message.

    Attributes:
        block: The position of its block in the message; None where the message is the result.
        tool: The tool's name, as far as the message tells it.
        text: Its text; parts joined by line breaks.
        call_id: The id of the call it answers; empty when it has none.
    """

    block: int | None
    tool: str
    text: str
    call_id: str = ""


def dialect_of(messages: Iterable[Json]) -> Dialect:
    """Tells the shape by the first message that only one dialect can have."""
    for message in messages:
        if message.get("role") in ("tool", "function", "system", "developer") or "tool_calls" in message:
            return Dialect.OPENAI
        for block in _blocks(message):
            if block.get("type") in ("tool_use", "tool_result", "thinking"):
                return Dialect.ANTHROPIC
    return Dialect.OPENAI


def call_points(messages: Sequence[Json]) -> list[int]:
    """Where each run of model output begins, as the number of messages before it; never 0."""
    roles = [message.get("role") for message in messages]
    return [
        index
        for index in range(1, len(roles))
        if roles[index] == "assistant" and roles[index - 1] != "assistant"
    ]


def core_messages(messages: Sequence[Json], dialect: Dialect) -> tuple[Message, ...]:
    """The messages in the core's view."""
    if dialect is Dialect.ANTHROPIC:
        return ANTHROPIC.read({"messages": list(messages)}).messages
    return read_chat(messages, ("messages",))


def message_tokens(message: Json, dialect: Dialect) -> int:
    """The size of one message: every text that ships, characters / 3, and its images (tokens).

    Remembered for each object, so messages must not be changed in place.
    """
    known = _sizes.get(id(message))
    if known is not None and known[0] is message:
        return known[1]
    size = _message_tokens(message, dialect)
    if len(_sizes) >= _SIZES_KEPT:
        _sizes.clear()
    _sizes[id(message)] = (message, size)
    return size


def _message_tokens(message: Json, dialect: Dialect) -> int:
    (read,) = core_messages([message], dialect)
    chars = sum(map(len, read.fixed))
    images = read.image_tokens
    for result in read.results:
        for part in result.parts:
            if isinstance(part, ImagePart):
                images += part.tokens
            else:
                chars += len(part.text)
    return chars // CHARS_PER_TOKEN + images


def said(message: Json, dialect: Dialect) -> Said:
    """The texts of one message."""
    (read,) = core_messages([message], dialect)
    is_model = read.speaker is Speaker.MODEL
    arguments = tuple(text for call in read.calls for text in _leaves(call.arguments))
    written = {call.arguments for call in read.calls}
    prose = tuple(text for text in read.fixed if text not in written) + arguments
    results = tuple(
        part.text for result in read.results for part in result.parts if isinstance(part, TextPart)
    )
    return Said(results, prose, arguments, is_model)


def _leaves(arguments: str) -> Iterator[str]:
    """The values in a JSON text as they read once decoded; the text itself where it is no JSON."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        yield arguments
        return
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
        elif value is not None:
            yield str(value)


def results_of(message: Json, dialect: Dialect) -> list[Result]:
    """The tool results of one message."""
    if dialect is Dialect.OPENAI:
        if message.get("role") not in ("tool", "function"):
            return []
        name, call_id = message.get("name"), message.get("tool_call_id")
        return [Result(None, str(name or "tool"), _text(message.get("content")), str(call_id or ""))]
    return [
        Result(index, "tool", _text(block.get("content")), str(block.get("tool_use_id") or ""))
        for index, block in enumerate(_blocks(message))
        if block.get("type") == "tool_result"
    ]


def call_names(message: Json) -> Iterator[tuple[str, str]]:
    """The id and tool name of each call a message makes."""
    for call in message.get("tool_calls") or ():
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            yield str(call.get("id") or ""), str(call["function"].get("name") or "tool")
    for block in _blocks(message):
        if block.get("type") == "tool_use":
            yield str(block.get("id") or ""), str(block.get("name") or "tool")


def with_result(message: Json, block: int | None, text: str) -> Json:
    """A copy of a message in which one tool result says `text`; parts that are no text stay."""
    if block is None:
        return {**message, "content": _content(message.get("content"), text)}
    content = list(message["content"])
    content[block] = {**content[block], "content": _content(content[block].get("content"), text)}
    return {**message, "content": content}


def _content(old: Any, text: str) -> Any:
    if not isinstance(old, list):
        return text
    others = [part for part in old if not _is_text(part)]
    return [{"type": "text", "text": text}, *others]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            part if isinstance(part, str) else part["text"] for part in content if _is_text(part)
        )
    return ""


def _is_text(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("text"), str))


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [block if isinstance(block, dict) else {} for block in content]
