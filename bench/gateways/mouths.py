"""What each HTTP endpoint for gateways is asked, given the body of a chat request."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final


def _compact(body: bytes) -> bytes:
    return body


def _portkey(body: bytes) -> bytes:
    hook = {"requestType": "chatComplete", "eventType": "beforeRequestHook", "provider": "openai"}
    return json.dumps({"request": {"json": json.loads(body), "text": ""}, **hook}).encode()


def _headroom(body: bytes) -> bytes:
    """The rows that LiteLLM's guardrail of that name shows: no model's, no system's, nor the last user's."""
    rows: list[dict[str, Any]] = json.loads(body)["messages"]
    last = max((at for at, row in enumerate(rows) if row["role"] == "user"), default=len(rows))
    shown = [row for at, row in enumerate(rows) if row["role"] in ("user", "tool") and at != last]
    return json.dumps({"messages": shown, "model": "m", "config": {"mode": "ccr"}}).encode()


def _litellm(body: bytes) -> bytes:
    said = json.loads(body)
    rows = {"structured_messages": said["messages"], "tools": said.get("tools")}
    return json.dumps({"input_type": "request", "texts": [], "model": "m", **rows}).encode()


def _prune(body: bytes) -> bytes:
    return json.dumps({"body": {"json": base64.b64encode(body).decode()}}).encode()


ENDPOINTS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "/compact": _compact,
    "/hooks/portkey": _portkey,
    "/v1/compress": _headroom,
    "/beta/litellm_basic_guardrail_api": _litellm,
    "/v1/prune": _prune,
}
"""By the path of each, what makes its request of a chat's."""
