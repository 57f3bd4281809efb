"""Turns a caller's conversation into a request, and a reply back into the caller's kind of conversation.

Pure: both clients share it, and nothing here knows a channel.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, cast

from pinch.edits import apply_byte_edits, apply_part_edits
from pinch.errors import ReplyError, RequestError, one_line
from pinch.pruned import ConversationT, Pruned
from pinch.v1.prune_pb2 import ChatMessages, Format, PruneRequest, ReplyForm, RequestBody

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinch.v1.prune_pb2 import ChatMessage, Edit, Limits, PruneResponse, RequestContext

JsonObject = dict[str, Any]
BodyT = TypeVar("BodyT", bound=JsonObject | bytes)


class PruneOptions(TypedDict, total=False):
    """Keywords that every prune method takes; each may be left out or None.

    Attributes:
        limits: Limits for this call; absent fields take the server's settings.
        context: What the router knows about the call.
        dry_run: Only count: nothing changes, and `stats` tells what would have been saved.
        timeout: Time for this call, its retry included, in seconds, instead of the client's.
    """

    limits: Limits | None
    context: RequestContext | None
    dry_run: bool
    timeout: float | None


@dataclass(frozen=True, slots=True)
class PreparedPrune(Generic[ConversationT]):
    """A request that is ready to be sent, with what it takes to read its reply."""

    original: ConversationT
    request: PruneRequest
    timeout: float | None
    apply: Callable[[Sequence[Edit]], ConversationT]

    def finish(self, response: PruneResponse) -> Pruned[ConversationT]:
        """Reads the reply.

        Raises:
            ReplyError: The reply's edits do not fit the conversation.
        """
        edits = tuple(response.edits)
        if edits and self.request.dry_run:
            raise ReplyError("a dry run was answered with edits")
        return Pruned(
            body=self.apply(edits) if edits else self.original,
            pruned=bool(edits),
            reason=None if edits else one_line(response.unchanged_reason) or "unchanged",
            stats=response.stats if response.HasField("stats") else None,
            measured=response.measured if response.HasField("measured") else None,
            decision_id=response.decision_id,
            persisted=response.persisted,
            edits=edits,
            first_changed_message=(
                response.first_changed_message if response.HasField("first_changed_message") else None
            ),
            turn_frame=response.turn_frame if response.HasField("turn_frame") else None,
            economics=response.economics if response.HasField("economics") else None,
            prefix=response.prefix if response.HasField("prefix") else None,
            extractions=tuple(response.extractions),
        )


def prepare_body(
    body: BodyT,
    body_format: Format.ValueType,
    *,
    limits: Limits | None = None,
    context: RequestContext | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
) -> PreparedPrune[BodyT]:
    """Makes the request for a provider's JSON, given as bytes or as the dict that it was read into.

    Raises:
        RequestError: The body is neither, or the dict is not what a JSON object can be read into.
    """
    sent = body if isinstance(body, bytes) else _to_json(body)
    request = PruneRequest(
        body=RequestBody(format=body_format, json=sent),
        limits=limits,
        context=context,
        reply_form=ReplyForm.REPLY_FORM_EDITS,
        dry_run=dry_run,
    )

    def apply(edits: Sequence[Edit]) -> BodyT:
        edited = apply_byte_edits(sent, edits)
        return cast("BodyT", edited if isinstance(body, bytes) else _from_json(edited))

    return PreparedPrune(body, request, timeout, apply)


def prepare_chat(
    messages: Sequence[ChatMessage],
    *,
    limits: Limits | None = None,
    context: RequestContext | None = None,
    dry_run: bool = False,
    timeout: float | None = None,
) -> PreparedPrune[Sequence[ChatMessage]]:
    """Makes the request for typed messages."""
    request = PruneRequest(
        chat=ChatMessages(messages=messages),
        limits=limits,
        context=context,
        reply_form=ReplyForm.REPLY_FORM_EDITS,
        dry_run=dry_run,
    )
    return PreparedPrune(messages, request, timeout, lambda edits: apply_part_edits(messages, edits))


def _to_json(body: object) -> bytes:
    if not isinstance(body, dict):
        raise RequestError(f"the body must be bytes or a dict, not {type(body).__name__}")
    try:
        try:
            return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:  # a lone surrogate has no UTF-8, but it has a JSON escape
            return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        # Only the kind of error: its text may quote the conversation.
        raise RequestError(f"the body cannot be written as JSON ({type(error).__name__})") from error


def _from_json(edited: bytes) -> JsonObject:
    try:
        body = json.loads(edited)
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"the edited body is not JSON ({type(error).__name__})") from error
    if not isinstance(body, dict):
        raise ReplyError("the edited body is not a JSON object")
    return body
