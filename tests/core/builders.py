"""Short ways to write down a chat."""

from typing import Any

Chat = list[dict[str, Any]]


def user(text: str) -> dict[str, Any]:
    """A user message."""
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    """An assistant message without calls."""
    return {"role": "assistant", "content": text}


def called(*names: str, ids: tuple[str, ...] | None = None) -> dict[str, Any]:
    """An assistant message that calls tools; ids are the names unless given."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": "{}"}}
            for name, id_ in zip(names, ids or names, strict=True)
        ],
    }


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    """A tool result."""
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def round_of(name: str, content: Any) -> Chat:
    """One call and its result."""
    return [called(name), result(name, content)]
