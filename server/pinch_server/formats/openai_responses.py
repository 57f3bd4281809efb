"""OpenAI Responses: a flat list of items; tool results are `function_call_output` and its custom sibling."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from pinch_server.core.chat import (
    arguments_text,
    block_text,
    id_or_none,
    json_text,
    part_text,
    read_image_url,
    tool_definitions,
)
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
from pinch_server.formats.blocks import text_or_none
from pinch_server.formats.dialect import UNSUPPORTED_STATE, Dialect, entries, typed_note
from pinch_server.formats.format import Format

_TRIMMED: Final = ("function_call_output", "custom_tool_call_output")
_ROLES: Final = {"user": Speaker.USER, "assistant": Speaker.MODEL}


def _read_beside(body: Mapping[str, Any]) -> Conversation:
    # A request that only points at its history, or at a part of it, cannot be measured or trimmed.
    refers = bool(body.get("previous_response_id") or body.get("conversation"))
    return Conversation(
        (),
        tools=tool_definitions(body.get("tools")),
        preamble=(body["instructions"],) if isinstance(body.get("instructions"), str) else (),
        unsupported=UNSUPPORTED_STATE if refers else None,
    )


def _is_reference(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "item_reference"


def _read_item(item: Any, address: Address) -> Message:
    if not isinstance(item, Mapping):
        return Message(Speaker.OTHER, fixed=(json_text(item),))
    kind = item.get("type", "message" if "role" in item else None)
    if kind == "message":
        return _read_message(item)
    if not isinstance(kind, str):
        return Message(Speaker.OTHER, fixed=(json_text(item),))
    if kind in _TRIMMED:
        parts = tuple(_parts(item.get("output"), (*address, "output")))
        return Message(Speaker.TOOL, results=(_result(item, parts),))
    if kind.endswith("_output"):
        # Results of other tools: never trimmed, but they answer the calls before them.
        return Message(Speaker.TOOL, results=(_result(item, (_opaque_output(item),)),))
    if kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments" if kind == "function_call" else "input")
        call = ToolCall(
            id_or_none(item.get("call_id")), text_or_none(item.get("name")), arguments_text(arguments)
        )
        return Message(Speaker.MODEL, fixed=(call.name or "", call.arguments), calls=(call,))
    if kind == "reasoning":
        return Message(Speaker.MODEL, fixed=tuple(_reasoning(item)))
    speaker = Speaker.MODEL if kind.endswith("_call") else Speaker.OTHER
    return Message(speaker, fixed=(json_text(item),))


def _reasoning(item: Mapping[str, Any]) -> Iterator[str]:
    for part in (*entries(item.get("summary")), *entries(item.get("content"))):
        if isinstance(part.get("text"), str):
            yield part["text"]
    if isinstance(item.get("encrypted_content"), str):
        yield item["encrypted_content"]


def _result(item: Mapping[str, Any], parts: tuple[Part, ...]) -> ToolResult:
    return ToolResult(
        call_id=id_or_none(item.get("call_id")),
        tool=text_or_none(item.get("name")),
        is_error=item.get("is_error") is True or item.get("status") == "failed",
        parts=parts,
    )


def _opaque_output(item: Mapping[str, Any]) -> Part:
    output = item.get("output")
    if isinstance(output, Mapping) and isinstance(output.get("image_url"), str):
        return ImagePart(*read_image_url(output["image_url"]), None, None)
    return OpaquePart(json_text(item))


def _read_message(item: Mapping[str, Any]) -> Message:
    role = item.get("role")
    speaker = _ROLES.get(role, Speaker.OTHER) if isinstance(role, str) else Speaker.OTHER
    content = item.get("content")
    fixed: list[str] = []
    prose: list[str] = []
    images = 0
    if not isinstance(content, list):
        content = [] if content in (None, "") else [content]
    for part in content:
        text = part_text(part)
        if text is not None:
            fixed.append(text)
            prose.append(text)
        elif _is_image(part):
            images += _image(part)[0]
        else:
            fixed.append(block_text(part))
    is_turn = speaker is Speaker.USER and content != []
    return Message(speaker, tuple(fixed), tuple(prose), image_tokens=images, is_turn=is_turn)


def _parts(output: Any, address: Address) -> Iterator[Part]:
    if isinstance(output, str):
        yield TextPart(output, address)
    elif isinstance(output, list):
        for index, part in enumerate(output):
            text = part_text(part)
            if text is not None:
                where = (*address, index) if isinstance(part, str) else (*address, index, "text")
                yield TextPart(text, where, index)
            elif _is_image(part):
                yield ImagePart(*_image(part), (*address, index), index)
            else:
                yield OpaquePart(block_text(part))
    elif output is not None:
        yield OpaquePart(json_text(output))


def _is_image(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "input_image"


def _image(part: Mapping[str, Any]) -> tuple[int, str]:
    return read_image_url(part.get("image_url"), low_detail=part.get("detail") == "low")


def _holds_results(item: Mapping[str, Any]) -> bool:
    return item.get("type") in _TRIMMED


OPENAI_RESPONSES = Dialect(
    format=Format.OPENAI_RESPONSES,
    history_key="input",
    read_entry=_read_item,
    read_beside=_read_beside,
    image_note=partial(typed_note, kind="input_text", source="image_url"),
    holds_results=_holds_results,
    is_reference=_is_reference,
    marks=frozenset({"instructions", "previous_response_id", "max_output_tokens"}),
    plain_history=True,
)
"""The dialect of OpenAI Responses. Reasoning, compactions and hosted tools are never touched."""
