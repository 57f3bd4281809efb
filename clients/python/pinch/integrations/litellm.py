"""Pinch in LiteLLM's proxy: prunes chat, messages and responses before a deployment is chosen.

In the proxy's configuration:

    litellm_settings:
      callbacks: ["pinch.integrations.litellm.pruner"]

`pruner` reads its settings from the environment: `PINCH_ADDRESS` (127.0.0.1:50051), `PINCH_TOKEN`,
`PINCH_TIMEOUT_SECONDS` (2) and `PINCH_TLS_CA`. A module of your own may hold a `PinchPruner` made otherwise.

Whatever goes wrong, LiteLLM goes on with the request as it came: nothing here raises.
"""

from __future__ import annotations

import json
import logging
import os
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from litellm.integrations.custom_logger import CustomLogger

from pinch import AsyncPinchClient, Format, Limits, Outcome, Route, Tls, TokenUsage
from pinch.integrations.headers import DECISION_ID, PREFIX, TOKENS_SAVED, UNCHANGED, read_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinch import Pruned

_LOG: Final = logging.getLogger(__name__)
_KEYS: Final = {
    "completion": (Format.FORMAT_OPENAI_CHAT, "messages"),
    "acompletion": (Format.FORMAT_OPENAI_CHAT, "messages"),
    "anthropic_messages": (Format.FORMAT_ANTHROPIC_MESSAGES, "messages"),
    "responses": (Format.FORMAT_OPENAI_RESPONSES, "input"),
    "aresponses": (Format.FORMAT_OPENAI_RESPONSES, "input"),
}
"""For each kind of call the dialect of its body, and where the conversation stands in it."""
_SENT: Final = ("model", "system", "instructions", "tools", "previous_response_id", "conversation")
"""What else of a body says how large the prompt is, or where its history lies."""
_MOST_OPEN: Final = 10_000


class PinchPruner(CustomLogger):  # type: ignore[misc] # LiteLLM is not installed where types are checked
    """A callback of LiteLLM's proxy.

    The caller's headers `x-pinch-*` are heeded: limits, session, dry run, bypass and what else is known of a
    call. One that is unknown or malformed leaves the request as it is. Answers carry `x-pinch-decision-id`,
    `x-pinch-tokens-saved` and, when nothing changed, `x-pinch-unchanged-reason`.

    Args:
        client: The client to ask with; None: one made from the environment at the first call.
        limits: Limits for every call; None: the server's settings.
    """

    def __init__(self, client: AsyncPinchClient | None = None, limits: Limits | None = None) -> None:
        super().__init__()
        self._client = client
        self._limits = limits
        self._open: OrderedDict[str, str] = OrderedDict()
        self._told: OrderedDict[str, dict[str, str]] = OrderedDict()

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,  # noqa: ARG002 LiteLLM passes it
        cache: Any,  # noqa: ARG002 likewise
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """Puts the pruned conversation in the place of the one that came."""
        try:
            await self._prune(data, call_type)
        except Exception:  # noqa: BLE001 an exception here would be the caller's 500
            _LOG.warning("a request goes on unpruned", exc_info=_LOG.isEnabledFor(logging.DEBUG))
            _keep(self._told, data.get("litellm_call_id"), {UNCHANGED: "failed"})
        return data

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,  # noqa: ARG002 LiteLLM passes it
        response: Any,  # noqa: ARG002 likewise
        request_headers: dict[str, str] | None = None,  # noqa: ARG002 likewise
    ) -> dict[str, str] | None:
        """What became of a request, for the headers of its answer; None of one that was not looked at."""
        return self._told.pop(str(data.get("litellm_call_id")), None)

    async def async_log_success_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Reports that a request was answered, and what the provider counted."""
        del start_time, end_time
        await self._report(kwargs, Outcome.OUTCOME_DISPATCHED, response_obj)

    async def async_log_failure_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Reports that a request came to nothing."""
        del start_time, end_time, response_obj
        await self._report(kwargs, Outcome.OUTCOME_FAILED, None)

    async def _prune(self, data: dict[str, Any], call_type: str) -> None:
        kind = _KEYS.get(call_type)
        if kind is None or not isinstance(data.get(kind[1]), list):
            return
        dialect, key = kind
        call = data.get("litellm_call_id")
        asked = read_headers(_headers(data))
        _withhold(data)
        if asked.problems or asked.bypass:
            for problem in asked.problems:
                _LOG.warning("a request goes on unpruned: %s", problem)
            _keep(self._told, call, {UNCHANGED: "invalid" if asked.problems else "bypass"})
            return
        sent = {name: data[name] for name in (key, *_SENT) if data.get(name) is not None}
        # Through JSON and back, so that what cannot be sent is found before anything is changed.
        body: dict[str, Any] = json.loads(json.dumps(sent))
        context = asked.context
        context.request_id = str(call or "")
        context.session_id = context.session_id or str(data.get("litellm_session_id") or "")
        context.model = context.model or str(data.get("model") or "")
        context.route = context.route or Route.ROUTE_ROUTED
        pruned = await self._made().prune_body(
            body,
            asked.format or dialect,
            limits=asked.over(self._limits),
            context=context,
            dry_run=asked.dry_run,
        )
        if pruned.pruned:
            data[key] = pruned.body[key]
        if pruned.decision_id:
            _keep(self._open, call, pruned.decision_id)
        _keep(self._told, call, _headers_of(pruned))

    async def _report(self, kwargs: Mapping[str, Any], outcome: Outcome.ValueType, response: Any) -> None:
        try:
            decision = self._open.pop(str(kwargs.get("litellm_call_id")), "")
            if not decision:
                return
            cost = kwargs.get("response_cost")
            await self._made().report_outcome(
                decision,
                outcome,
                selected_model=str(kwargs.get("model") or ""),
                usage=_usage(response),
                cost_usd=f"{cost:.10f}" if isinstance(cost, float) else None,
            )
        except Exception:  # noqa: BLE001 a report is worth no request
            _LOG.debug("a report was not made", exc_info=True)

    def _made(self) -> AsyncPinchClient:
        if self._client is None:
            roots = os.environ.get("PINCH_TLS_CA")
            self._client = AsyncPinchClient(
                os.environ.get("PINCH_ADDRESS", "127.0.0.1:50051"),
                timeout=float(os.environ.get("PINCH_TIMEOUT_SECONDS", "2")),
                token=os.environ.get("PINCH_TOKEN"),
                tls=Tls(root_certificates=Path(roots).read_bytes()) if roots else None,
            )
        return self._client


def _keep(kept: OrderedDict[str, Any], call: Any, value: Any) -> None:
    """Keeps what is known of a call until it is asked for, and forgets the oldest beyond a bound."""
    if isinstance(call, str):
        kept[call] = value
        while len(kept) > _MOST_OPEN:
            kept.popitem(last=False)


def _headers_of(pruned: Pruned[Any]) -> dict[str, str]:
    """What an answer is told in its headers."""
    saved = pruned.stats.tokens_saved if pruned.pruned and pruned.stats is not None else 0
    told = {DECISION_ID: pruned.decision_id, TOKENS_SAVED: str(saved)} if pruned.decision_id else {}
    if not pruned.pruned:
        reason = pruned.reason or ""
        told[UNCHANGED] = "invalid" if reason == "invalid_argument" else reason
    return told


def _withhold(data: Mapping[str, Any]) -> None:
    """Takes what is meant for Pinch out of the headers that LiteLLM was told to pass on to providers."""
    passed_on = data.get("headers")
    if isinstance(passed_on, dict):
        for name in [name for name in passed_on if str(name).lower().startswith(PREFIX)]:
            del passed_on[name]


def _headers(data: Mapping[str, Any]) -> dict[str, str]:
    request = data.get("proxy_server_request")
    headers = request.get("headers") if isinstance(request, dict) else None
    return (
        {str(name).lower(): str(text) for name, text in headers.items()} if isinstance(headers, dict) else {}
    )


def _usage(response: Any) -> TokenUsage | None:
    """What the provider counted, in any of the shapes that LiteLLM hands over."""
    usage = _at(response, "usage")
    if usage is None:
        return None
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    read = _count(usage, "cache_read_input_tokens")
    if read is None:
        details = _at(usage, "prompt_tokens_details") or _at(usage, "input_tokens_details")
        read = _count(details, "cached_tokens")
    write = _count(usage, "cache_creation_input_tokens")
    if (
        prompt is not None
        and _count(usage, "prompt_tokens") is None
        and _at(usage, "input_tokens_details") is None
    ):
        # Anthropic's own shape counts what came from the cache beside the prompt.
        prompt += (read or 0) + (write or 0)
    return TokenUsage(
        prompt_tokens=prompt,
        cached_tokens=read,
        cache_write_tokens=write,
        completion_tokens=_count(usage, "completion_tokens", "output_tokens"),
    )


def _at(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)


def _count(holder: Any, *names: str) -> int | None:
    for name in names:
        value = _at(holder, name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


pruner = PinchPruner()
"""The callback to name in the proxy's configuration."""
