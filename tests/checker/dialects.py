"""What each wire dialect says about a body: its messages, and the texts inside tool results.

An allow-list: whatever is not named here as a text of a tool result may not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.checker.json_tokens import Node, string_leaves

FORMATS = ("openai-chat", "anthropic", "openai-responses", "gemini", "bedrock")
UNNAMED_TOOL = "tool"
_OPENAI_TEXTS = ("text", "input_text", "output_text")
"""What servers that copy OpenAI take for one another, in either API; they take bare strings, too."""


@dataclass(frozen=True, slots=True)
class Result:
    """One tool result: where it stands, what it answers, and what of it may change.

    `block` is None where the message itself is the result; `texts` are the editable strings in order and
    `images` the blocks that a text part may replace.
    """

    message: int
    block: int | None
    identifier: str | None
    name: str
    is_error: bool
    node: Node
    texts: tuple[Node, ...]
    images: tuple[Node, ...]

    @property
    def length(self) -> int:
        """Code points of all its texts."""
        return sum(len(text.text) for text in self.texts)


@dataclass(frozen=True, slots=True)
class Message:
    """One message or item: `is_output` marks what the model wrote, `is_turn` what a user said."""

    index: int
    role: str
    node: Node
    is_output: bool
    is_turn: bool
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Body:
    """A request body as its dialect reads it; `messages_node` is None when there is no list of messages."""

    format: str
    root: Node
    messages_node: Node | None
    messages: tuple[Message, ...]

    @property
    def results(self) -> list[Result]:
        """All tool results in order of appearance."""
        return [result for message in self.messages for result in message.results]


Names = dict[str, str]
Reader = Callable[[int, Node, Names], Message]


def read(format: str, root: Node) -> Body:
    """Reads a scanned body.

    Raises:
        KeyError: `format` is none of `FORMATS`.
    """
    key, reader = _READERS[format]
    found = root.get(key)
    if found is None or found.kind != "array":
        return Body(format, root, None, ())
    names: Names = {}
    messages = tuple(reader(index, node, names) for index, node in enumerate(found.items))
    return Body(format, root, found, messages)


def _call(names: Names, identifier: str | None, name: str | None) -> None:
    """Remembers a call; a later call with the same id hides it, so that the nearest before counts."""
    if identifier is not None:
        names[identifier] = name or ""


def _name(own: str | None, identifier: str | None, names: Names) -> str:
    for name in (own, names.get(identifier) if identifier is not None else None):
        if name and name.strip():
            return name
    return UNNAMED_TOOL


def _is_true(node: Node | None) -> bool:
    return node is not None and node.raw == b"true"


def _is_said(role: str, node: Node) -> bool:
    """Whether a user said something here: a message with nothing in it is no turn."""
    content = node.get("content")
    if role != "user" or content is None or content.raw in (b"null", b'""'):
        return False
    return content.kind != "array" or bool(content.items)


def _typed(part: Node, key: str, *types: str) -> Node | None:
    """The string under `key` of a part of one of `types`."""
    text = part.get(key)
    if part.string("type") in types and text is not None and text.kind == "string":
        return text
    return None


def _text_of(part: Node, text_types: tuple[str, ...]) -> Node | None:
    """The string that a part of a content says."""
    # Some clients of OpenAI's write a bare string where a text part belongs.
    if part.kind == "string" and text_types is _OPENAI_TEXTS:
        return part
    return _typed(part, "text", *text_types)


def _content(
    content: Node | None, text_types: tuple[str, ...], image_type: str
) -> tuple[list[Node], list[Node]]:
    """Editable strings and images of a content that is a string or a list of typed parts."""
    if content is None:
        return [], []
    if content.kind == "string":
        return [content], []
    texts = [text for part in content.elements() if (text := _text_of(part, text_types)) is not None]
    return texts, [part for part in content.elements() if part.string("type") == image_type]


def _openai_chat(index: int, node: Node, names: Names) -> Message:
    role = node.string("role") or ""
    if role not in ("tool", "function"):
        calls = node.get("tool_calls")
        for call in calls.elements() if calls is not None and role == "assistant" else []:
            inner = call.get("function") or call.get("custom")
            if inner is not None and inner.kind == "object":
                _call(names, call.string("id"), inner.string("name"))
        return Message(index, role, node, role == "assistant", _is_said(role, node), ())
    identifier = node.string("tool_call_id")
    content = node.get("content")
    texts, images = _content(content, _OPENAI_TEXTS, "image_url")
    name = _name(node.string("name"), identifier, names)
    is_error = _is_true(node.get("is_error"))
    result = Result(index, None, identifier, name, is_error, node, tuple(texts), tuple(images))
    return Message(index, role, node, False, False, (result,))


def _anthropic(index: int, node: Node, names: Names) -> Message:
    role = node.string("role") or ""
    content = node.get("content")
    results: list[Result] = []
    is_turn = content is not None and content.kind == "string" and _is_said(role, node)
    for at, block in enumerate(content.elements() if content is not None else []):
        kind = block.string("type")
        if kind == "tool_use" and role == "assistant":
            _call(names, block.string("id"), block.string("name"))
        if kind != "tool_result" or role != "user":
            is_turn = is_turn or role == "user"
            continue
        identifier = block.string("tool_use_id")
        texts, images = _content(block.get("content"), ("text",), "image")
        name = _name(None, identifier, names)
        is_error = _is_true(block.get("is_error"))
        results.append(Result(index, at, identifier, name, is_error, block, tuple(texts), tuple(images)))
    return Message(index, role, node, role == "assistant", is_turn, tuple(results))


def _openai_responses(index: int, node: Node, names: Names) -> Message:
    kind = node.string("type") or "message"
    role = (node.string("role") or "") if kind == "message" else kind
    if kind in ("function_call", "custom_tool_call"):
        _call(names, node.string("call_id"), node.string("name"))
    results: tuple[Result, ...] = ()
    if kind in ("function_call_output", "custom_tool_call_output"):
        identifier = node.string("call_id")
        texts, images = _content(node.get("output"), _OPENAI_TEXTS, "input_image")
        name = _name(node.string("name"), identifier, names)
        results = (Result(index, None, identifier, name, False, node, tuple(texts), tuple(images)),)
    elif kind.endswith("_output"):
        # A result all the same, so it closes a round, but of a kind that nobody trims.
        identifier = node.string("call_id")
        results = (Result(index, None, identifier, _name(None, identifier, names), False, node, (), ()),)
    is_output = role == "assistant" or kind == "reasoning" or kind.endswith("_call")
    return Message(index, role, node, is_output, _is_said(role, node), results)


def _gemini(index: int, node: Node, names: Names) -> Message:
    role = node.string("role") or "user"
    parts = node.get("parts")
    results: list[Result] = []
    is_turn = False
    for at, part in enumerate(parts.elements() if parts is not None else []):
        call = part.get("functionCall") or part.get("function_call")
        if call is not None and role == "model":
            _call(names, call.string("id"), call.string("name"))
        answer = part.get("functionResponse") or part.get("function_response")
        if answer is None or role == "model":
            is_turn = is_turn or role == "user"
            continue
        identifier = answer.string("id")
        response = answer.get("response")
        texts = list(string_leaves(response)) if response is not None and response.kind == "object" else []
        name = _name(answer.string("name"), identifier, names)
        results.append(Result(index, at, identifier, name, _gemini_error(response), part, tuple(texts), ()))
    return Message(index, role, node, role == "model", is_turn, tuple(results))


def _gemini_error(response: Node | None) -> bool:
    """The API's own convention: a response with an `error` and no `output` reports a failure."""
    if response is None or response.get("output") is not None or response.get("result") is not None:
        return False
    error = response.get("error")
    return error is not None and error.raw not in (b"null", b"false", b'""')


def _bedrock(index: int, node: Node, names: Names) -> Message:
    role = node.string("role") or ""
    content = node.get("content")
    results: list[Result] = []
    is_turn = False
    for at, block in enumerate(content.elements() if content is not None else []):
        call = block.get("toolUse")
        if call is not None and role == "assistant":
            _call(names, call.string("toolUseId"), call.string("name"))
        answer = block.get("toolResult")
        if answer is None or role != "user":
            is_turn = is_turn or (role == "user" and block.get("cachePoint") is None)
            continue
        texts: list[Node] = []
        images: list[Node] = []
        inner = answer.get("content")
        for part in inner.elements() if inner is not None else []:
            text, data = part.get("text"), part.get("json")
            if text is not None and text.kind == "string":
                texts.append(text)
            elif data is not None:
                texts.extend(string_leaves(data))
            elif part.get("image") is not None:
                images.append(part)
        identifier = answer.string("toolUseId")
        name = _name(None, identifier, names)
        is_error = answer.string("status") == "error"
        results.append(Result(index, at, identifier, name, is_error, block, tuple(texts), tuple(images)))
    return Message(index, role, node, role == "assistant", is_turn, tuple(results))


_READERS: dict[str, tuple[str, Reader]] = {
    "openai-chat": ("messages", _openai_chat),
    "anthropic": ("messages", _anthropic),
    "openai-responses": ("input", _openai_responses),
    "gemini": ("contents", _gemini),
    "bedrock": ("messages", _bedrock),
}
