"""OpenAI Chat Completions: tool results are messages of role `tool` (or the legacy `function`)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pinch_server.core.chat import read_message, tool_definitions
from pinch_server.core.conversation import Conversation
from pinch_server.formats.dialect import Dialect, typed_note
from pinch_server.formats.format import Format


def _read_beside(body: Mapping[str, Any]) -> Conversation:
    return Conversation((), tools=tool_definitions(body.get("tools"), body.get("functions")))


def _holds_results(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("tool", "function")


OPENAI_CHAT = Dialect(
    format=Format.OPENAI_CHAT,
    history_key="messages",
    read_entry=read_message,
    read_beside=_read_beside,
    image_note=partial(typed_note, kind="text", source="image_url"),
    holds_results=_holds_results,
)
"""The dialect of Chat Completions and of the many servers that copy it."""
