"""One request on its way through Envoy and its answer on the way back, step by step."""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from pinch_server.core.decision import Outcome, OutcomeName
from pinch_server.core.moments import unix_micros
from pinch_server.decide import Body, Decided, InvalidCallError, PruneCall, stored_text
from pinch_server.faults import told
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import splice
from pinch_server.formats.spoken import Unspoken, spoken_in
from pinch_server.gateways.envoy.paths import dialect_of, tells_nothing
from pinch_server.gateways.envoy.usage import UsageReader, reader_for
from pinch_server.gateways.envoy.v1 import external_processor_pb2 as pb
from pinch_server.gateways.headers import (
    DECISION_ID,
    PREFIX,
    TOKENS_SAVED,
    UNCHANGED,
    Asked,
    by_name,
    read_headers,
)
from pinch_server.gateways.in_time import InTime, Turn, Untold
from pinch_server.ports import Clock

_LOG: Final = logging.getLogger(__name__)
_STATUS: Final = re.compile("[0-9]{3}")


class Account(Protocol):
    """Takes what became of a request."""

    def __call__(self, result: str, seconds: float, decided: Decided | None, request_id: str) -> None:
        """Counts it, and notes it for its line in the log.

        Args:
            result: What came of it, as a slug.
            seconds: Time its body was kept (seconds).
            decided: The decision, when one was made.
            request_id: Envoy's own id of it; empty where there is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class Around:
    """What every exchange needs.

    Attributes:
        in_time: Makes the decisions.
        seconds: Time for one (seconds).
        report: Keeps what became of one.
        clock: The time.
    """

    in_time: InTime
    seconds: float
    report: Callable[[Outcome], bool]
    clock: Clock


class Exchange:
    """One request and its answer.

    Args:
        around: What every exchange needs.
        account: Takes what became of this one.
        tenant: Whose it is.
    """

    def __init__(self, around: Around, account: Account, tenant: str = "") -> None:
        self._around = around
        self._account = account
        self._tenant = tenant
        self._asked = Asked()
        self._awaits_body = False
        self._dialect: Format | None = None
        self._decided: Decided | None = None
        self._result = ""
        self._status: int | None = None
        self._reader: UsageReader | None = None
        self._is_reported = False

    def answer(self, step: pb.ProcessingRequest) -> pb.ProcessingResponse:
        """The answer to one step of it; never raises, since that would end what Envoy is passing on."""
        try:
            return self._answer(step)
        except Exception as error:  # noqa: BLE001 what passes through is worth more than what is done about it
            _LOG.error("a step of Envoy's failed: %s", told(error))
            return _untouched(step)

    def _answer(self, step: pb.ProcessingRequest) -> pb.ProcessingResponse:
        kind = step.WhichOneof("request")
        if kind == "request_headers":
            return self._request_headers(step.request_headers)
        if kind == "request_body":
            return pb.ProcessingResponse(request_body=self._request_body(step.request_body))
        if kind == "response_headers":
            reply = pb.ProcessingResponse(response_headers=self._response_headers(step.response_headers))
            if self._decided is None:
                # Nothing is reported of it, so that its pieces need not go by Pinch.
                reply.mode_override.SetInParent()
            return reply
        if kind == "response_body":
            self._response_body(step.response_body)
        return _untouched(step)

    def ended(self) -> None:
        """Reports what became of the decision, when that is known: the last thing to call; never raises."""
        if self._decided is None or self._status is None or self._is_reported:
            return
        self._is_reported = True
        try:
            self._report(self._decided, self._status)
        except Exception as error:  # noqa: BLE001 as above
            _LOG.error("what became of Envoy's request cannot be reported: %s", told(error))

    def unheard(self) -> None:
        """Takes the decision back whose answer nobody waits for any more: the request went on as it came."""
        if self._decided is None or self._status is not None or self._is_reported:
            return
        self._is_reported = True
        now = unix_micros(self._around.clock.now())
        try:
            self._around.report(Outcome(self._decided.decision_id, now, "REJECTED"))
        except Exception as error:  # noqa: BLE001 as above
            _LOG.error("what became of Envoy's request cannot be reported: %s", told(error))

    def _report(self, decided: Decided, status: int) -> None:
        outcome: OutcomeName = "DISPATCHED" if 200 <= status < 300 else "FAILED"
        now = unix_micros(self._around.clock.now())
        report = Outcome(decided.decision_id, now, outcome)
        if self._reader is not None:
            used = self._reader.usage()
            report = Outcome(
                decided.decision_id,
                now,
                outcome,
                model=stored_text(used.model or ""),
                prompt_tokens=used.prompt_tokens,
                cached_tokens=used.cached_tokens,
                cache_write_tokens=used.cache_write_tokens,
                completion_tokens=used.completion_tokens,
            )
        self._around.report(report)

    def _request_headers(self, sent: pb.HttpHeaders) -> pb.ProcessingResponse:
        headers = _read(sent.headers)
        self._awaits_body, self._dialect = False, None
        self._asked = read_headers(headers)
        # Of all names: what is ours reaches no provider, understood or not.
        own = [name for name in headers if name.startswith(PREFIX)]
        changes = pb.CommonResponse(header_mutation=pb.HeaderMutation(remove_headers=own)) if own else None
        reply = pb.ProcessingResponse(request_headers=pb.HeadersResponse(response=changes))
        path = headers.get(":path", "")
        self._dialect = self._asked.format or dialect_of(path)
        # What is large and no JSON, such as a file, need not be held by Envoy to be looked at.
        may_tell = tells_nothing(path) and "json" in headers.get("content-type", "").lower()
        is_plain = headers.get("content-encoding", "identity").strip().lower() in ("", "identity")
        is_looked_at = (self._dialect is not None or may_tell) and is_plain
        if headers.get(":method") != "POST" or not is_looked_at or sent.end_of_stream:
            reply.mode_override.CopyFrom(_NO_MORE)
        elif self._asked.bypass:
            self._told("bypass", 0.0)
            reply.mode_override.CopyFrom(_NO_MORE)
        else:
            self._awaits_body = True
        return reply

    def _request_body(self, sent: pb.HttpBody) -> pb.BodyResponse:
        if not self._awaits_body or self._result:
            return pb.BodyResponse()
        if not sent.end_of_stream:
            # Envoy holds less than the whole body, so there is nothing that could be swapped.
            self._told("too_large", 0.0)
            return pb.BodyResponse()
        started = self._around.clock.monotonic()
        done = self._made(sent.body)
        seconds = self._around.clock.monotonic() - started
        if isinstance(done, str):
            self._told(done, seconds)
            return pb.BodyResponse()
        decided, body = done
        self._decided = decided
        self._told(decided.unchanged_reason or "pruned", seconds)
        if body is None:
            return pb.BodyResponse()
        return pb.BodyResponse(
            response=pb.CommonResponse(
                body_mutation=pb.BodyMutation(body=body),
                header_mutation=pb.HeaderMutation(set_headers=[_set("content-length", str(len(body)))]),
            )
        )

    def _made(self, body: bytes) -> tuple[Decided, bytes | None] | str:
        asked, said = self._asked, self._dialect

        def work(turn: Turn) -> tuple[Decided, Format, bytes | None] | Unspoken:
            dialect = said or spoken_in(body)
            if isinstance(dialect, Unspoken):
                return dialect
            call = PruneCall(
                Body(body, dialect), asked.limits, asked.context, asked.dry_run, asked.violations
            )
            decided = turn.decide(call, len(body))
            return decided, dialect, splice(body, decided.byte_edits) if decided.byte_edits else None

        try:
            done = self._around.in_time.begin(work, self._around.seconds, self._tenant).result()
        except InvalidCallError:
            return "invalid"
        if isinstance(done, Untold | Unspoken):
            return str(done)
        decided, self._dialect, edited = done
        return decided, edited

    def _told(self, result: str, seconds: float) -> None:
        self._result = result
        self._account(result, seconds, self._decided, self._asked.context.request_id)

    def _response_headers(self, sent: pb.HttpHeaders) -> pb.HeadersResponse:
        if not self._result:
            return pb.HeadersResponse()
        headers = _read(sent.headers)
        status = headers.get(":status", "")
        self._status = int(status) if _STATUS.fullmatch(status) else 0
        told = []
        if self._decided is not None and self._dialect is not None:
            saved = self._decided.stats.tokens_saved if self._decided.byte_edits else 0
            told = [_set(DECISION_ID, self._decided.decision_id), _set(TOKENS_SAVED, str(saved))]
            self._reader = reader_for(self._dialect, headers)
        if self._result != "pruned":
            told.append(_set(UNCHANGED, self._result))
        if sent.end_of_stream:
            self.ended()
        return pb.HeadersResponse(
            response=pb.CommonResponse(header_mutation=pb.HeaderMutation(set_headers=told))
        )

    def _response_body(self, sent: pb.HttpBody) -> None:
        if self._reader is not None:
            self._reader.feed(sent.body)
        if sent.end_of_stream:
            self.ended()


_NO_MORE: Final = pb.ProcessingMode(response_header_mode=pb.HEADER_SEND_MODE_SKIP)
"""Nothing else of this request is of use."""


def _untouched(step: pb.ProcessingRequest) -> pb.ProcessingResponse:
    """The answer that changes nothing, of the kind that Envoy waits for."""
    match step.WhichOneof("request"):
        case "request_headers":
            return pb.ProcessingResponse(request_headers=pb.HeadersResponse())
        case "request_body":
            return pb.ProcessingResponse(request_body=pb.BodyResponse())
        case "request_trailers":
            return pb.ProcessingResponse(request_trailers=pb.TrailersResponse())
        case "response_headers":
            return pb.ProcessingResponse(response_headers=pb.HeadersResponse())
        case "response_body":
            return pb.ProcessingResponse(response_body=pb.BodyResponse())
        case _:
            return pb.ProcessingResponse(response_trailers=pb.TrailersResponse())


def _read(headers: pb.HeaderMap) -> Mapping[str, str]:
    return by_name(
        (header.key, header.raw_value.decode("utf-8", "replace") if header.raw_value else header.value)
        for header in headers.headers
    )


def _set(name: str, text: str) -> pb.HeaderValueOption:
    return pb.HeaderValueOption(
        header=pb.HeaderValue(key=name, raw_value=text.encode()),
        append_action=pb.APPEND_ACTION_OVERWRITE_IF_EXISTS_OR_ADD,
    )
