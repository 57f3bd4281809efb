"""An independent recount of tokens, `chars3`: the estimate that the stats are held against.

The rules, whole:

* Every message (item, content) costs `characters // 3`, one floor a message, plus its images' tokens.
  Characters are code points. They are the sum over the message of:
  - content text: the string, or the text of every text part; refusals too. A part is a text part by its type
    (`text`; for OpenAI also `input_text` and `output_text`, or a bare string) and holds a string;
  - reasoning text: `reasoning_content` or `reasoning` (chat), `thinking` (Anthropic), the texts of `summary`
    and `content` of a reasoning item plus its `encrypted_content` (Responses), `thought` parts' text
    (Gemini), `reasoningText.text` (Bedrock). Signatures cost nothing.
  - the model's tool calls: name plus arguments; a string counts as it stands, anything else as compact JSON;
  - tool results: texts as content; of Gemini's `response` and Bedrock's `json` every string leaf as text, and
    the compact JSON of the rest with its strings left empty. Results of another kind of tool (Responses
    items ending in `_output`) are blocks like any other;
  - every other block, part or item: its compact JSON, whole. A call or a result where none may stand (a
    result in the model's words, a call in the user's) is one of them.
  Compact JSON is json.dumps(value, ensure_ascii=False, separators=(",", ":")), numbers as Python reads and
  writes them: one out of range is Infinity, an integer of more than 4,300 digits a float.
  Roles, ids, a message's `name`, `cache_control`, Bedrock's cache points and unknown keys of known blocks
  cost nothing: no model reads them.
* Images cost by pixels (`image_size.tokens`), 1,600 when the size is unreadable, wherever they stand: in a
  message, in a tool result, beside a Gemini `response` in the `parts` of its functionResponse. Those parts
  ship to the model, so whatever else is among them counts as a block.
* The system prompt outside the messages (`system`, `instructions`, `systemInstruction`) is one message.
* Tool definitions (`tools`; Bedrock: `toolConfig.tools`; chat also legacy `functions`) cost
  len(json.dumps(tools)) // 3, default separators, once. A caller's `extra_fixed_tokens` takes their place.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.checker.dialects import read
from tests.checker.image_size import block_size, is_low_detail, tokens
from tests.checker.json_tokens import Node, nodes, scan, string_leaves

CHARS_PER_TOKEN = 3
_TEXT_TYPES = ("text", "input_text", "output_text", "summary_text", "reasoning_text")


@dataclass(frozen=True, slots=True)
class Recount:
    """Tokens of each message, of the system prompt outside them, and of what is fixed (tool definitions)."""

    messages: tuple[int, ...]
    system: int
    fixed: int

    @property
    def total(self) -> int:
        """The whole request."""
        return sum(self.messages) + self.system + self.fixed


@dataclass(slots=True)
class _Tally:
    format: str
    chars: int = 0
    image_tokens: int = 0

    def text(self, node: Node | None) -> None:
        if node is not None and node.kind == "string":
            self.chars += len(node.text)

    def value(self, node: Node | None) -> None:
        """A string as it stands, anything else as a block; null is nothing."""
        if node is None or node.raw == b"null":
            return
        if node.kind == "string":
            self.text(node)
        else:
            self.opaque(node)

    def leaves(self, node: Node) -> None:
        """A value whose strings may be trimmed: escapes cost nothing, before and after alike."""
        written = [leaf.text for leaf in string_leaves(node)]
        spelled = sum(len(json.dumps(text, ensure_ascii=False)) - 2 for text in written)
        self.chars += compact_length(node) - spelled + sum(map(len, written))

    def opaque(self, node: Node) -> None:
        self.chars += compact_length(node)

    def image(self, block: Node) -> None:
        self.image_tokens += tokens(block_size(block), self.format, low_detail=is_low_detail(block))

    def call(self, name: Node | None, arguments: Node | None) -> None:
        self.text(name)
        self.value(arguments)

    @property
    def tokens(self) -> int:
        return self.chars // CHARS_PER_TOKEN + self.image_tokens


def compact_length(node: Node) -> int:
    """Code points of a value's compact JSON; nested too deep for a parser, of its bytes without spacing."""
    try:
        return len(json.dumps(_value(node), ensure_ascii=False, separators=(",", ":")))
    except RecursionError:
        return sum(_token_length(inner) for inner in nodes(node))


def _value(node: Node) -> Any:
    return json.loads(node.raw, parse_int=_integer)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits.lstrip("-")) <= 4300 else float(digits)


def _token_length(node: Node) -> int:
    key = len(node.key.raw.decode()) + 1 if node.key is not None else 0
    if node.kind in ("object", "array"):
        return key + 2 + max(0, len(node.items) - 1)
    return key + len(node.raw.decode())


def recount(format: str, body: bytes, *, extra_fixed_tokens: int | None = None) -> Recount:
    """Counts a request body of any dialect; see the module's text for the rules.

    Raises:
        NotJson: `body` is no JSON.
    """
    root = scan(body)
    view = read(format, root)
    messages = [_message(format, message.node) for message in view.messages]
    spoken = root.get("input")
    if format == "openai-responses" and spoken is not None and spoken.kind == "string":
        messages.append(len(spoken.text) // CHARS_PER_TOKEN)
    fixed = tool_tokens(format, root) if extra_fixed_tokens is None else extra_fixed_tokens
    return Recount(tuple(messages), _system(format, root), fixed)


def _message(format: str, node: Node) -> int:
    tally = _Tally(format)
    if node.kind == "object":
        _COUNT[format](tally, node)
    else:
        tally.opaque(node)
    return tally.tokens


def tool_tokens(format: str, root: Node) -> int:
    """What the request's own tool definitions cost."""
    config = root.get("toolConfig")
    if format == "bedrock":
        listed = [config.get("tools") if config is not None else None]
    else:
        listed = [root.get("tools"), root.get("functions") if format == "openai-chat" else None]
    values = [_value(node) for node in listed if node is not None]
    return sum(len(json.dumps(value)) // CHARS_PER_TOKEN for value in values if value)


def _system(format: str, root: Node) -> int:
    tally = _Tally(format)
    found = root.get("system") if format in ("anthropic", "bedrock") else None
    if format == "openai-responses":
        tally.text(root.get("instructions"))
    elif format == "gemini":
        spelled = root.get("systemInstruction")
        found = spelled if spelled is not None else root.get("system_instruction")
        parts = found.get("parts") if found is not None else None
        found = parts if parts is not None and parts.kind == "array" else found
    if found is None or (format == "bedrock" and found.kind != "array"):
        return tally.tokens
    if found.kind != "array":
        tally.value(found)
    for block in found.elements():
        text = block.get("text")
        is_text = format != "anthropic" or block.string("type") == "text"
        if is_text and text is not None and text.kind == "string":
            tally.text(text)
        elif not _is_cache_point(block) or format != "bedrock":
            tally.opaque(block)
    return tally.tokens


def _is_cache_point(block: Node) -> bool:
    return list(block.members()) == ["cachePoint"]


def _content(tally: _Tally, content: Node | None) -> None:
    """A content that is a string or a list of typed parts (chat, Responses)."""
    if content is None or content.kind != "array":
        tally.value(content)
        return
    for part in content.items:
        kind, text = part.string("type"), part.get("text")
        if part.kind == "string":
            tally.text(part)
        elif kind in ("text", "input_text", "output_text") and text is not None and text.kind == "string":
            tally.text(text)
        elif kind == "refusal" and part.string("refusal") is not None:
            tally.text(part.get("refusal"))
        elif kind == {"openai-chat": "image_url", "openai-responses": "input_image"}[tally.format]:
            tally.image(part)
        else:
            tally.opaque(part)


def _openai_chat(tally: _Tally, node: Node) -> None:
    _content(tally, node.get("content"))
    if node.string("role") != "assistant":
        return
    for key in ("reasoning_content", "reasoning", "refusal"):
        tally.text(node.get(key))
    for key in ("reasoning_details", "thinking_blocks"):
        details = node.get(key)
        if details is not None and compact_length(details) > len("[]"):
            tally.chars += compact_length(details)
    calls = node.get("tool_calls")
    for call in calls.elements() if calls is not None else []:
        inner = call.get("function") or call.get("custom")
        if inner is None or inner.kind != "object":
            tally.chars += compact_length(call)
        _inner_call(tally, inner)
    _inner_call(tally, node.get("function_call"))


def _inner_call(tally: _Tally, call: Node | None) -> None:
    if call is not None and call.kind == "object":
        tally.call(call.get("name"), call.get("arguments") or call.get("input"))


def _openai_responses(tally: _Tally, node: Node) -> None:
    kind = node.string("type")
    if node.get("type") is None and node.get("role") is not None:
        kind = "message"
    output = node.get("output")
    if kind == "message":
        _content(tally, node.get("content"))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        _content(tally, output)
    elif kind == "function_call":
        tally.call(node.get("name"), node.get("arguments"))
    elif kind == "custom_tool_call":
        tally.call(node.get("name"), node.get("input"))
    elif kind == "reasoning":
        for listed in (node.get("summary"), node.get("content")):
            for part in listed.elements() if listed is not None else []:
                tally.text(part.get("text"))
        tally.text(node.get("encrypted_content"))
    elif kind is not None and kind.endswith("_output") and output and output.string("image_url") is not None:
        tally.image(output)
    else:
        tally.opaque(node)


def _anthropic(tally: _Tally, node: Node) -> None:
    _anthropic_content(tally, node.get("content"), node.string("role") or "")


def _anthropic_content(tally: _Tally, content: Node | None, role: str | None) -> None:
    if content is None or content.kind != "array":
        tally.value(content)
        return
    for block in content.items:
        kind = block.string("type")
        if kind == "text" and block.string("text") is not None:
            tally.text(block.get("text"))
        elif kind == "image":
            tally.image(block)
        elif kind == "thinking" and role is not None and block.string("thinking") is not None:
            tally.text(block.get("thinking"))
        elif kind == "tool_use" and role == "assistant":
            tally.call(block.get("name"), block.get("input"))
        elif kind == "tool_result" and role == "user":
            _anthropic_content(tally, block.get("content"), None)
        else:
            tally.opaque(block)


def _gemini(tally: _Tally, node: Node) -> None:
    parts = node.get("parts")
    if parts is None or parts.kind != "array":
        if parts is not None and parts.raw != b"null":
            tally.opaque(parts)
        return
    role = node.string("role") if node.get("role") is not None else "user"
    for part in parts.items:
        call = _spelled(part, "functionCall", "function_call")
        answer = _spelled(part, "functionResponse", "function_response")
        if answer is not None and answer.kind == "object" and role in ("user", "function", "tool"):
            _function_response(tally, answer)
        elif part.string("text") is not None:
            tally.text(part.get("text"))
        elif call is not None and call.kind == "object" and role == "model":
            tally.call(call.get("name"), call.get("args"))
        else:
            _media(tally, part)


def _spelled(node: Node, camel: str, snake: str) -> Node | None:
    found = node.get(camel)
    return found if found is not None else node.get(snake)


def _function_response(tally: _Tally, answer: Node) -> None:
    response, beside = answer.get("response"), answer.get("parts")
    if response is not None and response.kind == "object":
        tally.leaves(response)
    elif response is not None and response.raw != b"null":
        tally.opaque(response)
    for part in beside.elements() if beside is not None else []:
        _media(tally, part)


def _media(tally: _Tally, part: Node) -> None:
    inline = _spelled(part, "inlineData", "inline_data")
    mime = _spelled(inline, "mimeType", "mime_type") if inline is not None else None
    if mime is not None and mime.kind == "string" and mime.text.startswith("image/"):
        tally.image(part)
    else:
        tally.opaque(part)


def _bedrock(tally: _Tally, node: Node) -> None:
    content, role = node.get("content"), node.string("role")
    if content is None or content.kind != "array":
        if content is not None and content.raw != b"null":
            tally.opaque(content)
        return
    for block in content.items:
        call, answer, thought = block.get("toolUse"), block.get("toolResult"), block.get("reasoningContent")
        spoken = thought.get("reasoningText") if thought is not None else None
        image = block.get("image")
        if answer is not None and answer.kind == "object" and role == "user":
            _bedrock_result(tally, answer.get("content"))
        elif block.string("text") is not None:
            tally.text(block.get("text"))
        elif call is not None and call.kind == "object" and role == "assistant":
            tally.call(call.get("name"), call.get("input"))
        elif image is not None and image.kind == "object":
            tally.image(block)
        elif spoken is not None and spoken.string("text") is not None:
            tally.text(spoken.get("text"))
        elif not _is_cache_point(block):
            tally.opaque(block)


def _bedrock_result(tally: _Tally, content: Node | None) -> None:
    if content is None or content.kind != "array":
        if content is not None and content.raw != b"null":
            tally.opaque(content)
        return
    for part in content.items:
        data, image = part.get("json"), part.get("image")
        if part.string("text") is not None:
            tally.text(part.get("text"))
        elif data is not None:
            tally.leaves(data)
        elif image is not None and image.kind == "object":
            tally.image(part)
        else:
            tally.opaque(part)


_COUNT: dict[str, Callable[[_Tally, Node], None]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
}
