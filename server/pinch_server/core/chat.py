"""Reading OpenAI-shaped chat messages: the shape of `prune_context` and of Chat Completions bodies."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pinch_server.core.conversation import (
    Address,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    Speaker,
    TextPart,
    ToolCall,
    ToolResult,
)
from pinch_server.core.images import ImageRule, image_description, image_size, image_tokens

_SPEAKERS: Final = {
    "user": Speaker.USER,
    "assistant": Speaker.MODEL,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}


def json_text(value: Any) -> str:
    """The compact JSON text of any decoded JSON value: what an opaque block counts as.

    What JSON has no word for counts as its own text; nesting beyond all use counts nothing.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str, skipkeys=True)
    except (RecursionError, ValueError):
        return ""


def block_text(part: Any) -> str:
    """What a block that is neither text nor image counts as: a refusal its words, any other its JSON."""
    if isinstance(part, Mapping) and part.get("type") == "refusal" and isinstance(part.get("refusal"), str):
        refusal: str = part["refusal"]
        return refusal
    return json_text(part)


def arguments_text(value: Any) -> str:
    """The arguments of a tool call as text: a string as it stands, any other value as its JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json_text(value)


def tool_definitions(*definitions: Any) -> tuple[str, ...]:
    """Tool definitions as they count: their JSON text in the original's spelling, `json.dumps(tools)`."""
    return tuple(json.dumps(value) for value in definitions if value)


def read_chat(messages: Iterable[Any], root: Address = ()) -> tuple[Message, ...]:
    """Reads chat messages of any shape; what is not understood counts and stays untouched.

    Args:
        messages: Decoded JSON values, normally objects with `role` and `content`.
        root: The address of the list they stand in.
    """
    return tuple(read_message(value, (*root, index)) for index, value in enumerate(messages))


def read_message(value: Any, address: Address) -> Message:
    """Reads one chat message, given its address; what is not understood counts and stays untouched."""
    if not isinstance(value, Mapping):
        return Message(Speaker.OTHER, fixed=(json_text(value),))
    role = value.get("role")
    speaker = _SPEAKERS.get(role, Speaker.OTHER) if isinstance(role, str) else Speaker.OTHER
    content = value.get("content")
    if speaker is Speaker.TOOL:
        result = ToolResult(
            call_id=id_or_none(value.get("tool_call_id")),
            tool=_text_or_none(value.get("name")),
            is_error=value.get("is_error") is True or value.get("status") == "error",
            parts=_result_parts(content, (*address, "content")),
        )
        return Message(speaker, results=(result,))
    fixed: list[str] = []
    prose: list[str] = []
    images = _read_content(content, fixed, prose)
    calls: tuple[ToolCall, ...] = ()
    if speaker is Speaker.MODEL:
        calls = tuple(_read_calls(value))
        for call in calls:
            fixed.extend((call.name or "", call.arguments))
        fixed.extend(_reasoning(value))
    is_turn = speaker is Speaker.USER and content not in (None, "", [])
    return Message(speaker, tuple(fixed), tuple(prose), calls, (), images, is_turn)


def _read_content(content: Any, fixed: list[str], prose: list[str]) -> int:
    """Adds a content's texts to `fixed` and its readable ones to `prose`; gives what its images cost."""
    if content is None:
        return 0
    if isinstance(content, str):
        fixed.append(content)
        prose.append(content)
        return 0
    if not isinstance(content, Sequence):
        fixed.append(json_text(content))
        return 0
    images = 0
    for part in content:
        text = part_text(part)
        image = None if text is not None else _read_image(part)
        if text is not None:
            fixed.append(text)
            prose.append(text)
        elif image is not None:
            images += image[0]
        else:
            fixed.append(block_text(part))
    return images


def _result_parts(content: Any, address: Address) -> tuple[Part, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(content, address),)
    if not isinstance(content, Sequence):
        return (OpaquePart(json_text(content)),)
    parts: list[Part] = []
    for index, part in enumerate(content):
        text = part_text(part)
        image = None if text is not None else _read_image(part)
        if text is not None:
            where = (*address, index) if isinstance(part, str) else (*address, index, "text")
            parts.append(TextPart(text, where, index))
        elif image is not None:
            parts.append(ImagePart(*image, (*address, index), index))
        else:
            parts.append(OpaquePart(block_text(part)))
    return tuple(parts)


def part_text(part: Any) -> str | None:
    """The text of a text part, or None for any other part."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") in ("text", "input_text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None


def _read_image(part: Any) -> tuple[int, str] | None:
    """Tokens and description of an image part, or None for any other part."""
    if not isinstance(part, Mapping) or part.get("type") != "image_url":
        return None
    source = part.get("image_url")
    url = source.get("url") if isinstance(source, Mapping) else source
    detail = source.get("detail") if isinstance(source, Mapping) else None
    return read_image_url(url, low_detail=detail == "low")


def read_image_url(url: Any, *, low_detail: bool = False) -> tuple[int, str]:
    """Tokens (by OpenAI's rule) and description of the image behind a `data:` or web address."""
    size = None
    media_type = "image"
    if isinstance(url, str) and url.startswith("data:"):
        size = image_size(url)
        media_type = url[5:200].split(";", 1)[0].split(",", 1)[0]
    tokens = image_tokens(size, ImageRule.OPENAI, low_detail=low_detail)
    return tokens, image_description(size, media_type)


def _reasoning(message: Mapping[str, Any]) -> Iterable[str]:
    """What a message ships beside its content: reasoning, refusals, and calls of no known shape."""
    for key in ("reasoning_content", "reasoning", "refusal"):
        if isinstance(message.get(key), str):
            yield message[key]
    for key in ("reasoning_details", "thinking_blocks"):
        if message.get(key):
            yield json_text(message[key])
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        if not isinstance(call, Mapping) or not isinstance(call.get("function", call.get("custom")), Mapping):
            yield json_text(call)


def _read_calls(message: Mapping[str, Any]) -> Iterable[ToolCall]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        if not isinstance(call, Mapping):
            continue
        function = call.get("function", call.get("custom"))
        if isinstance(function, Mapping):
            yield _call(call.get("id"), function)
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        yield _call(None, legacy)


def _call(call_id: Any, function: Mapping[str, Any]) -> ToolCall:
    arguments = arguments_text(function.get("arguments", function.get("input")))
    return ToolCall(id_or_none(call_id), _text_or_none(function.get("name")), arguments)


def id_or_none(value: Any) -> str | None:
    """An id, however short; None where there is none."""
    return value if isinstance(value, str) else None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
