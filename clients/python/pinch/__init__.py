"""The client of the Pinch service, which shortens agent conversations before they are sent to a model.

    from pinch import Limits, PinchClient

    with PinchClient("127.0.0.1:50051") as client:
        result = client.prune_openai(body, limits=Limits(budget_tokens=50_000))
        send_on(result.body)

Whatever goes wrong, `result.body` can be sent on: it is then the caller's own, and `result.reason` says why.
"""

from __future__ import annotations

from pinch.async_client import AsyncPinchClient
from pinch.client import PinchClient
from pinch.connection import DEFAULT_TIMEOUT_SECONDS, MESSAGE_LIMIT_BYTES, Tls
from pinch.conversations import PruneOptions
from pinch.errors import CallError, PinchError, ReplyError, RequestError
from pinch.outcomes import OutcomeOptions
from pinch.pruned import Pruned
from pinch.v1.prune_pb2 import (
    CacheContext,
    CacheState,
    ChatMessage,
    ContentPart,
    Economics,
    Edit,
    ExtractionDecision,
    Format,
    Image,
    Limits,
    Measured,
    Outcome,
    PrefixProbe,
    PruneStats,
    Ranking,
    Rates,
    RequestContext,
    Route,
    Stability,
    TokenUsage,
    ToolCall,
    ToolGlobs,
    TrimAction,
    TrimStyle,
    TurnFrame,
)
from pinch.version import VERSION

__version__ = VERSION

__all__ = [
    "DEFAULT_TIMEOUT_SECONDS",
    "MESSAGE_LIMIT_BYTES",
    "AsyncPinchClient",
    "CacheContext",
    "CacheState",
    "CallError",
    "ChatMessage",
    "ContentPart",
    "Economics",
    "Edit",
    "ExtractionDecision",
    "Format",
    "Image",
    "Limits",
    "Measured",
    "Outcome",
    "OutcomeOptions",
    "PinchClient",
    "PinchError",
    "PrefixProbe",
    "PruneOptions",
    "PruneStats",
    "Pruned",
    "Ranking",
    "Rates",
    "ReplyError",
    "RequestContext",
    "RequestError",
    "Route",
    "Stability",
    "Tls",
    "TokenUsage",
    "ToolCall",
    "ToolGlobs",
    "TrimAction",
    "TrimStyle",
    "TurnFrame",
    "__version__",
]
