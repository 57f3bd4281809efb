"""OpenAI Chat Completions: tool results are messages of role `tool` (or the legacy `function`)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pinch_server.core.chat import read_chat, tool_definitions
from pinch_server.core.conversation import Conversation
from pinch_server.formats.dialect import Dialect, entries, typed_note
from pinch_server.formats.format import Format


def _read(body: Mapping[str, Any]) -> Conversation:
    return Conversation(
        read_chat(body["messages"], ("messages",)),
        tools=tool_definitions(body.get("tools"), body.get("functions")),
    )


def _has_results(body: Mapping[str, Any]) -> bool:
    return any(message.get("role") in ("tool", "function") for message in entries(body["messages"]))


OPENAI_CHAT = Dialect(
    format=Format.OPENAI_CHAT,
    history_key="messages",
    read=_read,
    image_note=partial(typed_note, kind="text", source="image_url"),
    has_results=_has_results,
)
"""The dialect of Chat Completions and of the many servers that copy it."""
