"""Pinch in a LangChain agent: prunes what the model is shown, and leaves the agent's own state whole.

    from langchain.agents import create_agent
    from pinch import PinchClient
    from pinch.integrations.langchain import PinchMiddleware

    agent = create_agent(model, tools, middleware=[PinchMiddleware(PinchClient("127.0.0.1:50051"))])

Whatever goes wrong, the model is shown the messages as they are: nothing here raises.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pinch import AsyncPinchClient, Limits, PinchClient, Pruned

_LOG: Final = logging.getLogger(__name__)


class PinchMiddleware(AgentMiddleware):  # type: ignore[misc] # LangChain is not installed where types are checked
    """Shortens old tool results in what the model is shown.

    Args:
        client: The client for agents that are called synchronously; None where there are none.
        async_client: The client for agents that are awaited; None where there are none.
        limits: Limits for every call; None: the server's settings.
    """

    def __init__(
        self,
        client: PinchClient | None = None,
        *,
        async_client: AsyncPinchClient | None = None,
        limits: Limits | None = None,
    ) -> None:
        super().__init__()
        self._client = client
        self._async_client = async_client
        self._limits = limits

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Calls the model with the pruned messages."""
        return handler(self._shortened(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same, awaited."""
        return await handler(await self._shortened_async(request))

    def _shortened(self, request: Any) -> Any:
        if self._client is None:
            return request
        try:
            return _overridden(request, self._client.prune_openai(_body(request), limits=self._limits))
        except Exception:  # noqa: BLE001 an agent is worth more than the pruning of it
            return _left(request)

    async def _shortened_async(self, request: Any) -> Any:
        if self._async_client is None:
            return request
        try:
            pruned = await self._async_client.prune_openai(_body(request), limits=self._limits)
            return _overridden(request, pruned)
        except Exception:  # noqa: BLE001 an agent is worth more than the pruning of it
            return _left(request)


def _left(request: Any) -> Any:
    _LOG.warning("a model is shown its messages unpruned", exc_info=_LOG.isEnabledFor(logging.DEBUG))
    return request


def _body(request: Any) -> dict[str, Any]:
    """The request as a chat body, with one row for each message, and what else ships."""
    rows = convert_to_openai_messages(list(request.messages))
    if len(rows) != len(request.messages):
        raise ValueError("a message is more than one row")
    body: dict[str, Any] = {"messages": rows}
    tools = getattr(request, "tools", None)
    if tools:
        body["tools"] = [convert_to_openai_tool(tool) for tool in tools]
    system = getattr(request, "system_message", None)
    if system is not None:
        body["messages"] = [*convert_to_openai_messages([system]), *rows]
    # Through JSON and back, so that what cannot be sent is found here.
    sent: dict[str, Any] = json.loads(json.dumps(body))
    return sent


def _overridden(request: Any, pruned: Pruned[dict[str, Any]]) -> Any:
    if not pruned.pruned:
        return request
    rows: Sequence[dict[str, Any]] = pruned.body["messages"][-len(request.messages) :]
    messages = [
        message.model_copy(update={"content": row["content"]}) if _is_shorter(message, row) else message
        for message, row in zip(request.messages, rows, strict=True)
    ]
    return request.override(messages=messages)


def _is_shorter(message: Any, row: dict[str, Any]) -> bool:
    """Whether a row is a result that was trimmed; one of several parts must still have them all."""
    if not isinstance(message, ToolMessage):
        return False
    was, now = message.content, row.get("content")
    return type(was) is type(now) and was != now
