"""Gemini generateContent: tool results are the string leaves of `functionResponse.response`.

The API takes both spellings of its fields, `functionResponse` and `function_response`; so does this reader.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pinch_server.core.chat import arguments_text, id_or_none, json_text, tool_definitions
from pinch_server.core.conversation import (
    Address,
    Conversation,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    Speaker,
    ToolCall,
    ToolResult,
)
from pinch_server.core.images import ImageRule
from pinch_server.formats.blocks import base64_image, leaf_parts, text_or_none
from pinch_server.formats.dialect import Dialect, entries
from pinch_server.formats.format import Format

_SPEAKERS: Final = {
    "user": Speaker.USER,
    "model": Speaker.MODEL,
    "function": Speaker.USER,
    "tool": Speaker.USER,
}


def _either(value: Any, camel: str, snake: str) -> tuple[str, Any]:
    """The name under which a member stands, and the member; None when it stands under neither."""
    if not isinstance(value, Mapping):
        return camel, None
    return (camel, value[camel]) if camel in value else (snake, value.get(snake))


def _read_beside(body: Mapping[str, Any]) -> Conversation:
    _, system = _either(body, "systemInstruction", "system_instruction")
    return Conversation(
        (),
        tools=tool_definitions(body.get("tools")),
        preamble=tuple(_preamble(system)),
    )


def _preamble(system: Any) -> Iterator[str]:
    parts = system.get("parts") if isinstance(system, Mapping) else None
    if isinstance(parts, list):
        for part in parts:
            text = part.get("text") if isinstance(part, Mapping) else None
            yield text if isinstance(text, str) else json_text(part)
    elif system is not None:
        yield system if isinstance(system, str) else json_text(system)


def _read_content(value: Any, address: Address) -> Message:
    if not isinstance(value, Mapping):
        return Message(Speaker.OTHER, fixed=(json_text(value),))
    role = value.get("role", "user")
    speaker = _SPEAKERS.get(role, Speaker.OTHER) if isinstance(role, str) else Speaker.OTHER
    parts = value.get("parts")
    if not isinstance(parts, list):
        return Message(speaker, fixed=() if parts is None else (json_text(parts),))
    fixed: list[str] = []
    prose: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    images = 0
    for index, part in enumerate(parts):
        name, response = _either(part, "functionResponse", "function_response")
        _, call = _either(part, "functionCall", "function_call")
        _, inline = _either(part, "inlineData", "inline_data")
        text = part.get("text") if isinstance(part, Mapping) else None
        if isinstance(response, Mapping) and speaker is Speaker.USER:
            results.append(_read_result(response, index, (*address, "parts", index, name)))
        elif isinstance(text, str):
            fixed.append(text)
            if part.get("thought") is not True:
                prose.append(text)
        elif isinstance(call, Mapping) and speaker is Speaker.MODEL:
            read = ToolCall(
                id_or_none(call.get("id")), text_or_none(call.get("name")), arguments_text(call.get("args"))
            )
            calls.append(read)
            fixed.extend((read.name or "", read.arguments))
        elif _is_image(inline):
            images += _image(inline)[0]
        else:
            fixed.append(json_text(part))
    # What a function says is no turn of the user, whatever it has beside its results.
    is_turn = role == "user" and len(results) < len(parts)
    if speaker is Speaker.USER and not is_turn and (results or role != "user"):
        speaker = Speaker.TOOL
    return Message(speaker, tuple(fixed), tuple(prose), tuple(calls), tuple(results), images, is_turn)


def _read_result(response: Mapping[str, Any], index: int, address: Address) -> ToolResult:
    value = response.get("response")
    parts: list[Part] = []
    if isinstance(value, Mapping):
        parts.extend(leaf_parts(value, (*address, "response")))
    elif value is not None:
        parts.append(OpaquePart(json_text(value)))
    media = response.get("parts")
    for part in media if isinstance(media, list) else ():
        _, inline = _either(part, "inlineData", "inline_data")
        if _is_image(inline):
            parts.append(ImagePart(*_image(inline), None, None))
        else:
            parts.append(OpaquePart(json_text(part)))
    is_error = isinstance(value, Mapping) and set(value) == {"error"}
    return ToolResult(
        id_or_none(response.get("id")), text_or_none(response.get("name")), is_error, tuple(parts), index
    )


def _is_image(inline: Any) -> bool:
    _, media_type = _either(inline, "mimeType", "mime_type")
    return isinstance(media_type, str) and media_type.startswith("image/")


def _image(inline: Any) -> tuple[int, str]:
    _, media_type = _either(inline, "mimeType", "mime_type")
    return base64_image(inline.get("data"), media_type, ImageRule.GEMINI)


def _image_note(_part: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"text": text}


def _holds_results(content: Mapping[str, Any]) -> bool:
    return any(
        "functionResponse" in part or "function_response" in part for part in entries(content.get("parts"))
    )


GEMINI = Dialect(
    format=Format.GEMINI,
    history_key="contents",
    read_entry=_read_content,
    read_beside=_read_beside,
    image_note=_image_note,
    holds_results=_holds_results,
)
"""The dialect of Gemini. Thought signatures and the structure of a response are never touched."""
