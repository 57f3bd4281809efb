"""Small conversations with something to trim, as bodies and as typed messages."""

import base64
import json
from typing import Any

from pinch.v1 import prune_pb2 as pb

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def messages(results: int = 6, chars: int = 5_000) -> list[dict[str, Any]]:
    """An agent's session: one tool call and one long result a turn, with awkward characters in both."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "You mend code. 守り"}]
    for number in range(results):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/part_{number}.py"})}
        said += [
            {"role": "user", "content": f"Look at part {number}, please: “naïve” \U0001f600"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            },
            {
                "role": "tool",
                "tool_call_id": f"call_{number}",
                "content": f"line {number} é\t\\ \n" * (chars // 13),
            },
            {"role": "assistant", "content": f"Part {number} is fine."},
        ]
    return [*said, {"role": "user", "content": "And now?"}]


def body(said: list[dict[str, Any]] | None = None) -> bytes:
    """A Chat Completions body in a spelling no encoder gives back: spaces, big numbers, odd escapes."""
    text = json.dumps(messages() if said is None else said, ensure_ascii=False, indent=1)
    return f'{{ "model" : "m" , "seed":12345678901234567890, "t": 1.0,\n"messages": {text} }}\n'.encode()


def typed(said: list[dict[str, Any]] | None = None) -> pb.ChatMessages:
    """The same messages, typed."""
    return pb.ChatMessages(messages=[_message(message) for message in (messages() if said is None else said)])


def _message(message: dict[str, Any]) -> pb.ChatMessage:
    content = message.get("content")
    parts = [content] if isinstance(content, str) else content or []
    return pb.ChatMessage(
        role=message["role"],
        name=message.get("name", ""),
        tool_call_id=message.get("tool_call_id", ""),
        content=[_part(part) for part in parts],
        tool_calls=[
            pb.ToolCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        ],
    )


def _part(part: Any) -> pb.ContentPart:
    if isinstance(part, str):
        return pb.ContentPart(text=part)
    if part["type"] == "text":
        return pb.ContentPart(text=part["text"])
    if part["type"] == "image_url":
        return pb.ContentPart(image=pb.Image(url=part["image_url"]["url"]))
    return pb.ContentPart(opaque_json=json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode())
