"""The conversation as the pruner sees it: who speaks, what ships, and which texts may be trimmed.

Every wire dialect reads into these values and every edit is planned on them. A text that may change carries
the address of its place in the wire form, which only the dialect that made it understands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

Address = tuple[str | int, ...]
"""Where a text stands in its wire form: keys and indices from the root of the body."""


class Speaker(Enum):
    """Who a message comes from, as far as pruning cares."""

    USER = "user"
    MODEL = "model"
    TOOL = "tool"
    OTHER = "other"
    """System, developer and unknown roles: never touched, never a turn."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text inside a tool result: all that pruning may rewrite.

    Attributes:
        text: The text itself, decoded.
        address: Where it stands in the wire form.
        index: Its position among the parts of its result; None when the result is one bare string.
    """

    text: str
    address: Address
    index: int | None = None


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image inside a tool result.

    Attributes:
        tokens: What the provider charges for it (tokens).
        description: Its size and media type in words, for the text that may replace it.
        address: Where the whole part stands in the wire form; None where the dialect allows no text there.
        index: Its position among the parts of its result.
    """

    tokens: int
    description: str
    address: Address | None
    index: int | None


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """Any other block inside a tool result: counted, carried untouched.

    Attributes:
        text: Its JSON text, for counting.
    """

    text: str


Part = TextPart | ImagePart | OpaquePart


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model made.

    Attributes:
        id: The id its result will refer to; None when it has none.
        name: The tool's name; None when it is missing.
        arguments: The arguments as JSON text.
    """

    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one tool call brought back.

    Attributes:
        call_id: The id of the call it answers; None when it has none.
        tool: The tool's name as the result itself gives it; None when it does not.
        is_error: Whether the result says of itself that the call failed.
        parts: Its contents in order.
        block: The position of its block in the message; None where the whole message is the result.
    """

    call_id: str | None
    tool: str | None
    is_error: bool
    parts: tuple[Part, ...]
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One element of the conversation's list, whatever its dialect calls it.

    Attributes:
        speaker: Who it comes from.
        fixed: Every text of it that ships and never changes: contents, call names and arguments,
            reasoning, opaque blocks by their JSON text.
        prose: Its readable text, as the turn frame and the ranking query see it (a part of `fixed`).
        calls: The tool calls it makes.
        results: The tool results it carries.
        image_tokens: What the images outside its tool results cost (tokens).
        is_turn: Whether it opens a user turn: a user message with something other than tool results in it.
    """

    speaker: Speaker
    fixed: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    image_tokens: int = 0
    is_turn: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole request's history.

    Attributes:
        messages: All of it, oldest first.
        tools: The tool definitions that ship beside the messages, as JSON texts; each has its own floor.
        preamble: Texts that ship before the messages, such as a system prompt of its own field; counted as
            one message, never touched.
        unsupported: Why this conversation must come back as it came, as a slug; None when it can be pruned.
    """

    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    preamble: tuple[str, ...] = ()
    unsupported: str | None = None


def text_chars(message: Message) -> int:
    """The characters of all texts of a message."""
    return sum(map(len, message.fixed)) + sum(
        len(part.text)
        for result in message.results
        for part in result.parts
        if not isinstance(part, ImagePart)
    )


def tool_names(messages: Sequence[Message]) -> list[tuple[str, ...]]:
    """The tool name of every result of every message.

    A result's own name wins; else the nearest preceding call with its id names it, since ids repeat across
    turns; else it is plainly `tool`.

    Args:
        messages: The whole history, oldest first.

    Returns:
        For each message, one name for each of its results.
    """
    nearest: dict[str, str] = {}
    named: list[tuple[str, ...]] = []
    for message in messages:
        named.append(tuple(tool_name(result, nearest) for result in message.results))
        note_calls(nearest, message)
    return named


def tool_name(result: ToolResult, nearest: Mapping[str, str]) -> str:
    """The tool name of one result, by the calls that `note_calls` has noted of the messages before it."""
    if result.tool:
        return result.tool
    return "tool" if result.call_id is None else nearest.get(result.call_id, "tool")


def note_calls(nearest: dict[str, str], message: Message) -> None:
    """Notes the names of a message's calls under their ids, for the results that follow."""
    for call in message.calls:
        if call.id is not None:
            nearest[call.id] = call.name or "tool"
