"""A session in each of the dialects that gateways carry, and how two of them differ."""

from __future__ import annotations

import json
from typing import Any

from tests.rpc.conversations import messages

ROUTES = ("/v1/chat/completions", "/v1/messages", "/v1/responses")


def conversation(route: str, *, stream: bool = False, chars: int = 5_000) -> bytes:
    """A session over its budget, as it is posted to a route."""
    rows = messages(chars=chars)
    sent: dict[str, Any] = {"model": "m", "stream": stream}
    if route == "/v1/messages":
        sent |= {"max_tokens": 10, "system": rows[0]["content"], "messages": _anthropic(rows[1:])}
    elif route == "/v1/responses":
        sent["input"] = _items(rows)
    else:
        sent["messages"] = rows
    return json.dumps(sent, ensure_ascii=False).encode()


def _anthropic(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for row in rows:
        if row["role"] == "tool":
            result = {"type": "tool_result", "tool_use_id": row["tool_call_id"], "content": row["content"]}
            said.append({"role": "user", "content": [result]})
        elif row.get("tool_calls"):
            uses = [
                {"type": "tool_use", "id": call["id"], "name": "read_file", "input": {}}
                for call in row["tool_calls"]
            ]
            said.append({"role": "assistant", "content": uses})
        else:
            said.append(row)
    return said


def _items(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for row in rows:
        if row["role"] == "tool":
            items.append(
                {
                    "type": "function_call_output",
                    "call_id": row["tool_call_id"],
                    "output": row["content"],
                }
            )
        elif row.get("tool_calls"):
            items += [
                {"type": "function_call", "call_id": call["id"], "name": "read_file", "arguments": "{}"}
                for call in row["tool_calls"]
            ]
        else:
            items.append({"role": row["role"], "content": row["content"]})
    return items


def differing(was: Any, now: Any) -> list[Any]:
    """The places in which two JSON values differ, each a path; the texts there must have become shorter."""
    if isinstance(was, dict) and isinstance(now, dict):
        assert was.keys() == now.keys()
        return [[key, *path] for key in was for path in differing(was[key], now[key])]
    if isinstance(was, list) and isinstance(now, list):
        return [
            [number, *path]
            for number, pair in enumerate(zip(was, now, strict=True))
            for path in differing(*pair)
        ]
    if was == now:
        return []
    assert isinstance(was, str)
    assert isinstance(now, str)
    assert 0 < len(now) < len(was)
    return [[]]
