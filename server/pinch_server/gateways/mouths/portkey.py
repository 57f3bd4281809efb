"""`POST /hooks/portkey`: a Portkey webhook guardrail that runs before the request."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from pinch_server.decide import Body, Decided, PruneCall
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import decode, splice
from pinch_server.formats.spans import locate
from pinch_server.gateways.headers import read_headers
from pinch_server.gateways.inner_body import ABSENT
from pinch_server.gateways.mouth import Answer, Leave, Question

_GO_ON: Final = Answer(b'{"verdict":true}')
_FORMATS: Final[Mapping[str, Format]] = {
    "chatComplete": Format.OPENAI_CHAT,
    "messages": Format.ANTHROPIC,
    "createModelResponse": Format.OPENAI_RESPONSES,
}
"""The dialect by Portkey's name for the kind of request; any other kind is no conversation."""
_INNER: Final = ("request", "json")
"""Where the body stands."""
_SESSION: Final = "session_id"
"""The key of Portkey's metadata that names the session."""


class _Request(msgspec.Struct):
    json: msgspec.Raw = ABSENT


class _Hook(msgspec.Struct, rename="camel"):
    request: _Request
    request_type: str | None = None
    event_type: str | None = None
    metadata: Any = None


class Portkey:
    """The mouth of `default.webhook`."""

    name: Final = "portkey"
    path: Final = "/hooks/portkey"

    def read(self, body: bytes, headers: Mapping[str, str]) -> Question | Leave:
        """Takes the body that Portkey is about to send."""
        asked = read_headers(headers)
        if asked.bypass:
            return Leave("bypass")
        hook = _hook(body)
        if hook is None:
            return Leave("not_understood")
        inner = hook.request.json
        kind = asked.format or _FORMATS.get(hook.request_type or "chatComplete")
        if hook.event_type == "afterRequestHook" or inner == ABSENT or kind is None:
            return Leave("nothing_to_trim")
        json = bytes(inner)

        def answer(decided: Decided) -> Answer:
            if not decided.byte_edits:
                return _GO_ON
            edited = splice(json, decided.byte_edits)
            return Answer(b'{"verdict":true,"transformedData":{"request":{"json":%b}}}' % edited)

        session = hook.metadata.get(_SESSION) if isinstance(hook.metadata, dict) else None
        context = replace(asked.context, session_id=asked.context.session_id or str(session or ""))
        return Question(
            PruneCall(Body(json, kind), asked.limits, context, asked.dry_run, asked.violations), answer
        )

    def unchanged(self, left: Leave, body: bytes) -> Answer:
        """A verdict that lets the request pass."""
        del left, body
        return _GO_ON


def _hook(body: bytes) -> _Hook | None:
    try:
        return msgspec.json.decode(body, type=_Hook)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    # Texts that JavaScript cut within a character are JSON to it and to providers, but to no strict decoder.
    try:
        said = decode(body)
        start, length = locate(body, [_INNER])[_INNER]
        said["request"]["json"] = msgspec.Raw(body[start : start + length])
        return msgspec.convert(said, type=_Hook)
    except (BodyError, NotUnderstoodError, KeyError, TypeError, msgspec.ValidationError):
        return None
