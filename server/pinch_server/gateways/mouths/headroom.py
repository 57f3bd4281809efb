"""`POST /v1/compress`: the dialect of the headroom service, as LiteLLM's guardrail of that name speaks it.

That guardrail withholds the system rows, every assistant row, and the last exchange. A result is trimmed only
once the model has answered it, so an answer is put in behind each run of results before the plan is made, and
taken out again: all that is shown here has been answered. What is left says neither which tool a result is of
nor what the model said, and so there is less to go by.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from pinch_server.decide import Body, Decided, PruneCall
from pinch_server.formats.format import Format
from pinch_server.gateways.headers import read_headers
from pinch_server.gateways.inner_body import Rows
from pinch_server.gateways.mouth import Answer, Leave, Question

_MODEL_ANSWERED: Final = msgspec.Raw(b'{"role":"assistant","content":"."}')
_RESULTS: Final = ("tool", "function")


class _Row(msgspec.Struct):
    role: str = ""


class _Compress(msgspec.Struct):
    messages: msgspec.Raw
    model: str | None = None


class Headroom:
    """The mouth of `guardrail: headroom`."""

    name: Final = "headroom"
    path: Final = "/v1/compress"

    def read(self, body: bytes, headers: Mapping[str, str]) -> Question | Leave:
        """Takes the rows that were not withheld."""
        asked = read_headers(headers)
        if asked.bypass:
            return Leave("bypass")
        sent = _sent(body)
        if sent is None:
            return Leave("not_understood")
        shown = _answered(sent.messages)
        rows = Rows.of(msgspec.Raw(_joined(row for row, _ in shown)))

        def answer(decided: Decided) -> Answer:
            stats = decided.stats
            if not decided.byte_edits:
                return _answer(bytes(sent.messages), stats.original_tokens, 0)
            edited = msgspec.json.decode(rows.edited(decided.byte_edits), type=list[msgspec.Raw])
            own = (row for row, (_, is_own) in zip(edited, shown, strict=True) if is_own)
            return _answer(_joined(own), stats.original_tokens, stats.tokens_saved)

        context = replace(asked.context, model=asked.context.model or sent.model or "")
        return Question(
            PruneCall(
                Body(rows.json, Format.OPENAI_CHAT), asked.limits, context, asked.dry_run, asked.violations
            ),
            answer,
        )

    def unchanged(self, left: Leave, body: bytes) -> Answer:
        """The same rows; a request that has none is refused, and the guardrail goes by its own setting."""
        sent = _sent(body)
        if sent is None:
            return Answer(b'{"error":"%b"}' % left.reason.encode(), status=422)
        return _answer(bytes(sent.messages), None, 0)


def _sent(body: bytes) -> _Compress | None:
    try:
        sent = msgspec.json.decode(body, type=_Compress)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return sent if bytes(sent.messages).startswith(b"[") else None


def _answered(messages: msgspec.Raw) -> list[tuple[msgspec.Raw, bool]]:
    """The rows with an answer behind each run of results, and of each row whether it is one of theirs."""
    shown: list[tuple[msgspec.Raw, bool]] = []
    is_run = False
    for row in msgspec.json.decode(messages, type=list[msgspec.Raw]):
        is_result = _is_result(row)
        if is_run and not is_result:
            shown.append((_MODEL_ANSWERED, False))
        shown.append((row, True))
        is_run = is_result
    if is_run:
        shown.append((_MODEL_ANSWERED, False))
    return shown


def _is_result(row: msgspec.Raw) -> bool:
    try:
        return msgspec.json.decode(row, type=_Row).role in _RESULTS
    except msgspec.ValidationError:
        return False


def _joined(rows: Iterable[msgspec.Raw]) -> bytes:
    return b"[%b]" % b",".join(map(bytes, rows))


def _answer(messages: bytes, before: int | None, saved: int) -> Answer:
    counted = b"" if before is None else b'"tokens_before":%d,"tokens_after":%d,' % (before, before - saved)
    return Answer(b'{"messages":%b,%b"tokens_saved":%d,"ccr_hashes":[]}' % (messages, counted, saved))
