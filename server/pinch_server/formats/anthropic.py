"""Anthropic Messages: tool results are `tool_result` blocks at the head of user messages."""

from collections.abc import Iterator, Mapping
from functools import partial
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
    TextPart,
    ToolCall,
    ToolResult,
)
from pinch_server.core.images import ImageRule
from pinch_server.formats.blocks import base64_image, text_or_none
from pinch_server.formats.dialect import Dialect, entries, typed_note
from pinch_server.formats.format import Format

_SPEAKERS: Final = {"user": Speaker.USER, "assistant": Speaker.MODEL}


def _read_beside(body: Mapping[str, Any]) -> Conversation:
    return Conversation(
        (), tools=tool_definitions(body.get("tools")), preamble=tuple(_texts(body.get("system")))
    )


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            yield block["text"] if _is_text(block) else json_text(block)
    elif content is not None:
        yield json_text(content)


def _is_text(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _read_message(value: Any, address: Address) -> Message:
    if not isinstance(value, Mapping):
        return Message(Speaker.OTHER, fixed=(json_text(value),))
    role = value.get("role")
    speaker = _SPEAKERS.get(role, Speaker.OTHER) if isinstance(role, str) else Speaker.OTHER
    content = value.get("content")
    if not isinstance(content, list):
        texts = tuple(_texts(content))
        prose = texts if isinstance(content, str) else ()
        is_turn = speaker is Speaker.USER and content not in (None, "")
        return Message(speaker, fixed=texts, prose=prose, is_turn=is_turn)
    return _read_blocks(speaker, content, (*address, "content"))


def _read_blocks(speaker: Speaker, content: list[Any], address: Address) -> Message:
    fixed: list[str] = []
    prose: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    images = 0
    for index, block in enumerate(content):
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_result" and speaker is Speaker.USER:
            results.append(_read_result(block, index, (*address, index)))
        elif _is_text(block):
            fixed.append(block["text"])
            prose.append(block["text"])
        elif kind == "image":
            images += _image(block)[0]
        elif kind == "tool_use" and speaker is Speaker.MODEL:
            call = ToolCall(
                id_or_none(block.get("id")),
                text_or_none(block.get("name")),
                arguments_text(block.get("input")),
            )
            calls.append(call)
            fixed.extend((call.name or "", call.arguments))
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            fixed.append(block["thinking"])
        else:
            fixed.append(json_text(block))
    is_turn = speaker is Speaker.USER and len(results) < len(content)
    if speaker is Speaker.USER and results and not is_turn:
        speaker = Speaker.TOOL
    return Message(speaker, tuple(fixed), tuple(prose), tuple(calls), tuple(results), images, is_turn)


def _read_result(block: Mapping[str, Any], index: int, address: Address) -> ToolResult:
    return ToolResult(
        call_id=id_or_none(block.get("tool_use_id")),
        tool=None,
        is_error=block.get("is_error") is True,
        parts=tuple(_parts(block.get("content"), (*address, "content"))),
        block=index,
    )


def _parts(content: Any, address: Address) -> Iterator[Part]:
    if isinstance(content, str):
        yield TextPart(content, address)
    elif isinstance(content, list):
        for index, part in enumerate(content):
            if _is_text(part):
                yield TextPart(part["text"], (*address, index, "text"), index)
            elif isinstance(part, Mapping) and part.get("type") == "image":
                yield ImagePart(*_image(part), (*address, index), index)
            else:
                yield OpaquePart(json_text(part))
    elif content is not None:
        yield OpaquePart(json_text(content))


def _image(block: Mapping[str, Any]) -> tuple[int, str]:
    source = block.get("source")
    if not isinstance(source, Mapping):
        return base64_image(None, None, ImageRule.ANTHROPIC)
    return base64_image(source.get("data"), source.get("media_type"), ImageRule.ANTHROPIC)


def _holds_results(message: Mapping[str, Any]) -> bool:
    return any(block.get("type") == "tool_result" for block in entries(message.get("content")))


ANTHROPIC = Dialect(
    format=Format.ANTHROPIC,
    history_key="messages",
    read_entry=_read_message,
    read_beside=_read_beside,
    image_note=partial(typed_note, kind="text", source="source"),
    holds_results=_holds_results,
    marks=frozenset({"system", "anthropic_version", "anthropic_beta", "stop_sequences", "thinking"}),
)
"""The dialect of Anthropic Messages. Server-run tools, thinking and signed blocks are never touched."""
