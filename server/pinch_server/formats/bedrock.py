"""Amazon Bedrock Converse: tool results are `toolResult` blocks of user messages."""

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
    TextPart,
    ToolCall,
    ToolResult,
)
from pinch_server.core.images import ImageRule
from pinch_server.formats.blocks import base64_image, leaf_parts, text_or_none
from pinch_server.formats.dialect import Dialect, entries
from pinch_server.formats.format import Format

_SPEAKERS: Final = {"user": Speaker.USER, "assistant": Speaker.MODEL}


def _read_beside(body: Mapping[str, Any]) -> Conversation:
    system = body.get("system")
    tools = body.get("toolConfig")
    return Conversation(
        (),
        tools=tool_definitions(tools.get("tools")) if isinstance(tools, Mapping) else (),
        preamble=tuple(_preamble(system)),
    )


def _preamble(system: Any) -> Iterator[str]:
    for block in system if isinstance(system, list) else ():
        if not _is_mark(block):
            text = _text(block)
            yield json_text(block) if text is None else text


def _is_mark(block: Any) -> bool:
    """Whether a block is a cache point: a mark for the provider, which the model never reads."""
    return isinstance(block, Mapping) and set(block) == {"cachePoint"}


def _text(block: Any) -> str | None:
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else None


def _reasoning(block: Any) -> str | None:
    content = block.get("reasoningContent") if isinstance(block, Mapping) else None
    return _text(content.get("reasoningText")) if isinstance(content, Mapping) else None


def _read_message(value: Any, address: Address) -> Message:
    if not isinstance(value, Mapping):
        return Message(Speaker.OTHER, fixed=(json_text(value),))
    role = value.get("role")
    speaker = _SPEAKERS.get(role, Speaker.OTHER) if isinstance(role, str) else Speaker.OTHER
    content = value.get("content")
    if not isinstance(content, list):
        return Message(speaker, fixed=() if content is None else (json_text(content),))
    fixed: list[str] = []
    prose: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    images = 0
    for index, block in enumerate(content):
        text = _text(block)
        result = block.get("toolResult") if isinstance(block, Mapping) else None
        call = block.get("toolUse") if isinstance(block, Mapping) else None
        if isinstance(result, Mapping) and speaker is Speaker.USER:
            results.append(_read_result(result, index, (*address, "content", index, "toolResult")))
        elif text is not None:
            fixed.append(text)
            prose.append(text)
        elif isinstance(call, Mapping) and speaker is Speaker.MODEL:
            read = ToolCall(
                id_or_none(call.get("toolUseId")),
                text_or_none(call.get("name")),
                arguments_text(call.get("input")),
            )
            calls.append(read)
            fixed.extend((read.name or "", read.arguments))
        elif isinstance(block, Mapping) and isinstance(block.get("image"), Mapping):
            images += _image(block["image"])[0]
        elif (thought := _reasoning(block)) is not None:
            fixed.append(thought)
        elif not _is_mark(block):
            fixed.append(json_text(block))
    # A cache point among the results is nothing that the user said.
    said = sum(1 for block in content if not _is_mark(block))
    is_turn = speaker is Speaker.USER and len(results) < said
    if speaker is Speaker.USER and results and not is_turn:
        speaker = Speaker.TOOL
    return Message(speaker, tuple(fixed), tuple(prose), tuple(calls), tuple(results), images, is_turn)


def _read_result(result: Mapping[str, Any], index: int, address: Address) -> ToolResult:
    return ToolResult(
        call_id=id_or_none(result.get("toolUseId")),
        tool=None,
        is_error=result.get("status") == "error",
        parts=tuple(_parts(result.get("content"), (*address, "content"))),
        block=index,
    )


def _parts(content: Any, address: Address) -> Iterator[Part]:
    if not isinstance(content, list):
        if content is not None:
            yield OpaquePart(json_text(content))
        return
    for index, block in enumerate(content):
        text = _text(block)
        if text is not None:
            yield TextPart(text, (*address, index, "text"), index)
        elif isinstance(block, Mapping) and "json" in block:
            yield from leaf_parts(block["json"], (*address, index, "json"))
        elif isinstance(block, Mapping) and isinstance(block.get("image"), Mapping):
            yield ImagePart(*_image(block["image"]), (*address, index), index)
        else:
            yield OpaquePart(json_text(block))


def _image(image: Mapping[str, Any]) -> tuple[int, str]:
    source = image.get("source")
    kind = image.get("format")
    data = source.get("bytes") if isinstance(source, Mapping) else None
    return base64_image(data, f"image/{kind}" if isinstance(kind, str) else None, ImageRule.ANTHROPIC)


def _image_note(_part: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"text": text}


def _holds_results(message: Mapping[str, Any]) -> bool:
    return any("toolResult" in block for block in entries(message.get("content")))


BEDROCK = Dialect(
    format=Format.BEDROCK,
    history_key="messages",
    read_entry=_read_message,
    read_beside=_read_beside,
    image_note=_image_note,
    holds_results=_holds_results,
    marks=frozenset(
        {"toolConfig", "inferenceConfig", "modelId", "additionalModelRequestFields", "guardrailConfig"}
    ),
)
"""The dialect of Bedrock Converse. Cache points and reasoning are never touched."""
