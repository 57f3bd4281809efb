"""Whether what comes out can still be sent: the suite's own checker judges."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bench.peers.pruner import Messages
from tests.checker.dialects import read
from tests.checker.json_tokens import scan
from tests.checker.provider_rules import findings

_FORMAT = "openai-chat"
_SAID = ("system", "developer", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a conversation.

    Attributes:
        faults: What a provider would refuse and did not before; empty when it is valid.
        kept_messages: The share of messages that are still there, whatever they say now.
        said_whole: Whether every word of the user, the model and the system stands as it did.
    """

    faults: tuple[str, ...]
    kept_messages: float
    said_whole: bool


def judge(before: Messages, after: Messages) -> Verdict:
    """Compares the messages that would be sent with those that came in."""
    worse = _findings(after) - _findings(before)
    faults = sorted(worse)
    first = next((m.get("role") for m in after if m.get("role") not in ("system", "developer")), None)
    if first is not None and first != "user":
        faults.insert(0, f"begins with a message of the {first}")
    if not any(message.get("role") == "user" for message in after):
        faults.insert(0, "no message of the user is left")
    return Verdict(tuple(faults), len(after) / len(before), _said(before) == _said(after))


def _findings(messages: Messages) -> Any:
    return findings(read(_FORMAT, scan(json.dumps({"messages": messages}).encode())))


def _said(messages: Messages) -> list[tuple[Any, Any]]:
    return [(one["role"], one.get("content") or None) for one in messages if one.get("role") in _SAID]
