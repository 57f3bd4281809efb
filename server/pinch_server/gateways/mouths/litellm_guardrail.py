"""`POST /beta/litellm_basic_guardrail_api`: LiteLLM's generic guardrail, for OpenAI-shaped traffic alone.

LiteLLM shows a guardrail every request as OpenAI-shaped rows, also one that came to `/v1/messages`, and
writes changed rows back into the shape they came in. For `/v1/messages` that loses what the rows cannot say:
`is_error`, `cache_control` on results, documents, server tool blocks. So a request that shows any sign of
having come that way is left alone; `pinch.integrations.litellm` serves those.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from pinch_server.decide import Body, CallContext, Decided, PruneCall
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import decode
from pinch_server.gateways.headers import PREFIX, read_headers
from pinch_server.gateways.inner_body import ABSENT, Rows
from pinch_server.gateways.mouth import Answer, Leave, Question

_HIDDEN: Final = "[present]"
"""What LiteLLM shows instead of the value of most headers."""
_MESSAGES_HEADERS: Final = frozenset({"anthropic-version", "anthropic-beta"})
_MESSAGES_KEYS: Final = frozenset({"cache_control", "thinking_blocks"})
_NOTHING: Final = Answer(b'{"action":"NONE"}')


class _Guarded(msgspec.Struct):
    input_type: str
    structured_messages: msgspec.Raw = ABSENT
    tools: msgspec.Raw = ABSENT
    model: str | None = None
    litellm_call_id: str | None = None
    litellm_trace_id: str | None = None
    request_headers: dict[str, str] | None = None


class LitellmGuardrail:
    """The mouth of `guardrail: generic_guardrail_api`."""

    name: Final = "litellm"
    path: Final = "/beta/litellm_basic_guardrail_api"

    def read(self, body: bytes, headers: Mapping[str, str]) -> Question | Leave:
        """Takes the rows, unless they come from `/v1/messages` or are no request's."""
        try:
            guarded = msgspec.json.decode(body, type=_Guarded)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return Leave("not_understood")
        shown = {name.lower(): text for name, text in (guarded.request_headers or {}).items()}
        asked = read_headers({**headers, **_told(shown)})
        if asked.bypass:
            return Leave("bypass")
        messages = guarded.structured_messages
        if guarded.input_type != "request" or not bytes(messages).startswith(b"["):
            return Leave("nothing_to_trim")
        try:
            came_as_messages = _came_as_messages(shown, messages)
        except (BodyError, NotUnderstoodError):
            return Leave("not_understood")
        if came_as_messages:
            return Leave("anthropic_messages")
        rows = Rows.of(messages, guarded.tools)

        def answer(decided: Decided) -> Answer:
            if not decided.byte_edits:
                return _NOTHING
            edited = rows.edited(decided.byte_edits)
            return Answer(b'{"action":"GUARDRAIL_INTERVENED","structured_messages":%b}' % edited)

        return Question(
            PruneCall(
                Body(rows.json, Format.OPENAI_CHAT),
                asked.limits,
                _context(asked.context, guarded),
                asked.dry_run,
                asked.violations,
            ),
            answer,
        )

    def unchanged(self, left: Leave, body: bytes) -> Answer:
        """No action."""
        del left, body
        return _NOTHING


def _told(shown: Mapping[str, str]) -> dict[str, str]:
    """The headers whose values LiteLLM was told to show (`extra_headers`)."""
    return {name: text for name, text in shown.items() if text != _HIDDEN and name.startswith(PREFIX)}


def _came_as_messages(shown: Mapping[str, str], messages: msgspec.Raw) -> bool:
    if not _MESSAGES_HEADERS.isdisjoint(shown):
        return True
    rows: Any = decode(bytes(messages))
    return any(_is_marked(row) for row in rows if isinstance(row, dict))


def _is_marked(row: Mapping[str, Any]) -> bool:
    content = row.get("content")
    parts = content if isinstance(content, list) else ()
    return any(not _MESSAGES_KEYS.isdisjoint(one) for one in (row, *parts) if isinstance(one, dict))


def _context(asked: CallContext, guarded: _Guarded) -> CallContext:
    return replace(
        asked,
        request_id=guarded.litellm_call_id or asked.request_id,
        session_id=asked.session_id or guarded.litellm_trace_id or "",
        model=asked.model or guarded.model or "",
    )
