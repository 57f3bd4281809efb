"""Small conversations in the five dialects, with one long tool result each, to be trimmed by hand."""

from __future__ import annotations

import base64
import copy
import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

Json = Any
Path = Sequence[str | int]

TEXT = "\n".join(
    f"line {number}: value_{number * 7919 % 10007} at src/part_{number % 89}.py" for number in range(300)
)
"""A result well above every threshold; all its lines differ."""
PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 640, 480) + bytes(200)
).decode()


def elided(text: str, head: int = 1500, tail: int = 1500, off: int = 0) -> str:
    """Plain elision by hand; `off` falsifies the count."""
    gone = len(text) - head - tail + off
    return f"{text[:head]}\n\n[...{gone:,} chars trimmed...]\n\n{text[len(text) - tail :]}"


def _openai_chat(result: Json) -> Json:
    call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"q": 1.0}'}}
    return {
        "model": "m",
        "temperature": 1.0,
        "messages": [
            {"role": "user", "content": "start"},
            {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
            {"role": "tool", "tool_call_id": "c1", "content": result, "extra": 1.0},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "and now?"},
        ],
    }


def _anthropic(result: Json) -> Json:
    search = {"type": "web_search_result", "url": "u", "encrypted_content": "QUJD" * 40}
    return {
        "model": "m",
        "temperature": 1.0,
        "messages": [
            {"role": "user", "content": "start"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "web_search_tool_result", "tool_use_id": "s", "content": [search]},
                    {"type": "tool_use", "id": "c1", "name": "grep", "input": {"q": "x"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": result,
                        "cache_control": {"type": "ephemeral"},
                    },
                    {"type": "text", "text": "go"},
                ],
            },
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "and now?"},
        ],
    }


def _openai_responses(result: Json) -> Json:
    return {
        "model": "m",
        "temperature": 1.0,
        "input": [
            {"role": "user", "content": "start"},
            {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "QUJD" * 40},
            {"type": "function_call", "call_id": "c1", "name": "grep", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": result},
            {"type": "mcp_call", "id": "p1", "name": "far", "arguments": "{}", "output": TEXT},
            {"role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
            {"role": "user", "content": "and now?"},
        ],
    }


def _gemini(result: Json) -> Json:
    return {
        "generationConfig": {"temperature": 1.0},
        "contents": [
            {"role": "user", "parts": [{"text": "start"}]},
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"id": "c1", "name": "grep", "args": {}}, "thoughtSignature": "c2ln"}
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "grep", "response": {"output": result}}}],
            },
            {"role": "model", "parts": [{"text": "done"}]},
            {"role": "user", "parts": [{"text": "and now?"}]},
        ],
    }


def _bedrock(result: Json) -> Json:
    inner = result if isinstance(result, list) else [{"text": result}]
    return {
        "modelId": "m",
        "inferenceConfig": {"temperature": 1.0},
        "messages": [
            {"role": "user", "content": [{"text": "start"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "grep", "input": {}}}]},
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "c1", "content": inner, "status": "success"}},
                    {"cachePoint": {"type": "default"}},
                ],
            },
            {"role": "assistant", "content": [{"text": "done"}]},
            {"role": "user", "content": [{"text": "and now?"}]},
        ],
    }


BUILD: dict[str, Callable[[Json], Json]] = {
    "openai-chat": _openai_chat,
    "anthropic": _anthropic,
    "openai-responses": _openai_responses,
    "gemini": _gemini,
    "bedrock": _bedrock,
}
MESSAGES = {"openai-responses": "input", "gemini": "contents"}
RESULT_TEXT: dict[str, Path] = {
    "openai-chat": ("messages", 2, "content"),
    "anthropic": ("messages", 2, "content", 0, "content"),
    "openai-responses": ("input", 3, "output"),
    "gemini": ("contents", 2, "parts", 0, "functionResponse", "response", "output"),
    "bedrock": ("messages", 2, "content", 0, "toolResult", "content", 0, "text"),
}
RESULT_ID: dict[str, Path] = {
    "openai-chat": ("messages", 2, "tool_call_id"),
    "anthropic": ("messages", 2, "content", 0, "tool_use_id"),
    "openai-responses": ("input", 3, "call_id"),
    "gemini": ("contents", 2, "parts", 0, "functionResponse", "id"),
    "bedrock": ("messages", 2, "content", 0, "toolResult", "toolUseId"),
}


def messages(format: str, body: Json) -> list[Json]:
    """The list of messages of a body as built here."""
    listed = body[MESSAGES.get(format, "messages")]
    assert isinstance(listed, list)
    return listed


def at(body: Json, path: Path) -> Json:
    """The value at a path."""
    for step in path:
        body = body[step]
    return body


def put(body: Json, path: Path, value: Json) -> Json:
    """A copy with another value at a path."""
    changed = copy.deepcopy(body)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def drop(body: Json, path: Path) -> Json:
    """A copy without what stands at a path."""
    changed = copy.deepcopy(body)
    del at(changed, path[:-1])[path[-1]]
    return changed


def raw(body: Json) -> bytes:
    """The bytes of a body, pretty printed with CRLF, so that spacing is there to be kept."""
    return (
        json.dumps(body, indent=1, ensure_ascii=False).replace("\n", "\r\n").encode("utf-8", "surrogatepass")
    )
