"""Protobuf to the use case's call, and its answer back to protobuf."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.conversation import Conversation, ImagePart
from pinch_server.core.extraction.considered import Considering
from pinch_server.core.limits import Stability, TrimStyle, Violation
from pinch_server.core.plan import Action, Edit, Stats
from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.decide import Body, CallContext, Decided, PruneCall
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import splice
from pinch_server.formats.recent import History, RecentHistories
from pinch_server.rpc.typed import edit_messages, read_chat, replaced_sha256
from pinch_server.rpc.wire import Chat, SplitRequest

FORMATS: Final[Mapping[int, Format]] = {
    pb.FORMAT_OPENAI_CHAT: Format.OPENAI_CHAT,
    pb.FORMAT_ANTHROPIC_MESSAGES: Format.ANTHROPIC,
    pb.FORMAT_OPENAI_RESPONSES: Format.OPENAI_RESPONSES,
    pb.FORMAT_GEMINI: Format.GEMINI,
    pb.FORMAT_BEDROCK_CONVERSE: Format.BEDROCK,
}
FORMAT_NUMBERS: Final[Mapping[str, pb.Format.ValueType]] = {
    Format.OPENAI_CHAT: pb.FORMAT_OPENAI_CHAT,
    Format.ANTHROPIC: pb.FORMAT_ANTHROPIC_MESSAGES,
    Format.OPENAI_RESPONSES: pb.FORMAT_OPENAI_RESPONSES,
    Format.GEMINI: pb.FORMAT_GEMINI,
    Format.BEDROCK: pb.FORMAT_BEDROCK_CONVERSE,
}
_REPLY_FORMS: Final = {
    pb.REPLY_FORM_UNSPECIFIED: False,
    pb.REPLY_FORM_FULL: False,
    pb.REPLY_FORM_EDITS: True,
}
_ROUTES: Final[Mapping[int, str]] = {
    pb.ROUTE_UNSPECIFIED: "UNSPECIFIED",
    pb.ROUTE_ROUTED: "ROUTED",
    pb.ROUTE_PASSTHROUGH: "PASSTHROUGH",
}
_CACHE_STATES: Final[Mapping[int, CacheState]] = {
    pb.CACHE_STATE_WARM: CacheState.WARM,
    pb.CACHE_STATE_COLD: CacheState.COLD,
    pb.CACHE_STATE_NONE: CacheState.NONE,
}
_CACHE_NUMBERS: Final[Mapping[CacheState, pb.CacheState.ValueType]] = {
    CacheState.WARM: pb.CACHE_STATE_WARM,
    CacheState.COLD: pb.CACHE_STATE_COLD,
    CacheState.NONE: pb.CACHE_STATE_NONE,
}
_ACTION_NUMBERS: Final[Mapping[Action, pb.TrimAction.ValueType]] = {
    action: pb.TrimAction.Value(f"TRIM_ACTION_{action.name}") for action in Action
}
_NOTHING: Final = Conversation(())


@dataclass(frozen=True, slots=True)
class Received:
    """A request, read.

    Attributes:
        call: What it asks for, with what is wrong about it.
        chat: Its typed messages; None in the body form.
        body_format: The body's format as the caller gave it.
        edits_only: Whether the caller applies the edits itself.
    """

    call: PruneCall
    chat: Chat | None
    body_format: pb.Format.ValueType
    edits_only: bool


def read_request(split: SplitRequest, recent: RecentHistories, tenant: str = "") -> Received:
    """Reads a request; what is wrong with it stands in the call, to be told with what the use case finds.

    Args:
        split: The request.
        recent: The conversations that were read last.
        tenant: Whose request it is.

    Raises:
        google.protobuf.message.DecodeError: Its typed messages cannot be read.
    """
    request = split.rest
    problems: list[Violation] = []
    chat: Chat | None = None
    history: History | None = None
    body_format = pb.FORMAT_UNSPECIFIED
    conversation: Conversation | Body = _NOTHING
    if split.chat is not None:
        chat = Chat(split.chat)
        conversation, history = read_chat(split.chat, recent)
    elif split.json is not None or (kind := request.WhichOneof("conversation")) == "body":
        body_format = request.body.format
        json = request.body.json if split.json is None else split.json
        conversation = Body(json, _read_format(body_format, problems))
    elif kind == "chat":
        chat = Chat(request.chat.SerializeToString())
        conversation, history = read_chat(chat.encoded, recent)
    else:
        problems.append(Violation("conversation", "is missing; set chat or body"))
    if request.reply_form not in _REPLY_FORMS:
        problems.append(_unknown_number("reply_form", request.reply_form, "FULL or EDITS"))
    call = PruneCall(
        conversation=conversation,
        limits=_read_limits(request.limits, problems) if request.HasField("limits") else {},
        context=_read_context(request.context, problems, tenant)
        if request.HasField("context")
        else CallContext(tenant=tenant),
        dry_run=request.dry_run,
        history=history,
    )
    if problems:
        call = replace(call, violations=tuple(problems))
    return Received(call, chat, body_format, _REPLY_FORMS.get(request.reply_form, False))


def _read_format(number: pb.Format.ValueType, problems: list[Violation]) -> Format | None:
    if number != pb.FORMAT_UNSPECIFIED and number not in FORMATS:
        names = ", ".join(name.removeprefix("FORMAT_") for name in pb.Format.keys()[1:])
        problems.append(_unknown_number("body.format", number, f"one of {names}, or leave it out"))
    return FORMATS.get(number)


def _read_limits(limits: pb.Limits, problems: list[Violation]) -> dict[str, Any]:
    """The limits that are present, by the names they share with the core's."""
    given: dict[str, Any] = {}
    for field, value in limits.ListFields():
        if field.name == "protected_tools":
            given[field.name] = tuple(value.globs)
        elif field.name == "stability":
            if value != pb.STABILITY_UNSPECIFIED:
                _read_choice(given, field.name, value, *_STABILITIES, problems)
        elif field.name == "trim_style":
            if value != pb.TRIM_STYLE_UNSPECIFIED:
                _read_choice(given, field.name, value, *_TRIM_STYLES, problems)
        else:
            given[field.name] = value
    return given


def _read_choice(
    given: dict[str, Any],
    field: str,
    number: int,
    choices: Mapping[int, StrEnum],
    names: Mapping[int, str],
    problems: list[Violation],
) -> None:
    choice = choices.get(number)
    if choice is not None:
        given[field] = choice
        return
    known = " or ".join(choice.name for choice in choices.values())
    problem = f"{names.get(number) or number} is not known to this server; give {known}, or leave it out"
    problems.append(Violation(f"limits.{field}", problem))


def _choices(field: str, numbers: Any, choices: type[StrEnum]) -> tuple[dict[int, StrEnum], dict[int, str]]:
    """The values of an enum by their numbers on the wire, and the names of all numbers."""
    names = {number: name.removeprefix(f"{field.upper()}_") for name, number in numbers.items()}
    by_name = {choice.name: choice for choice in choices}
    return {number: by_name[name] for number, name in names.items() if name in by_name}, names


_STABILITIES: Final = _choices("stability", pb.Stability, Stability)
_TRIM_STYLES: Final = _choices("trim_style", pb.TrimStyle, TrimStyle)


def _read_context(context: pb.RequestContext, problems: list[Violation], tenant: str) -> CallContext:
    route = _ROUTES.get(context.route)
    if route is None:
        problems.append(_unknown_number("context.route", context.route, "ROUTED or PASSTHROUGH"))
    if context.HasField("cache"):
        _check_cache(context.cache, problems)
    rates = context.rates
    return CallContext(
        request_id=context.request_id,
        session_id=context.session_id,
        route=route or CallContext().route,
        model=context.model,
        prompt_rate=rates.prompt,
        cached_rate=rates.cached_prompt,
        cache_write_rate=rates.cache_write,
        cache=_read_cache(context.cache),
        labels=dict(context.labels),
        tenant=tenant,
    )


def _read_cache(cache: pb.CacheContext) -> CacheContext:
    """The cache context; `_check_cache` tells what is wrong with it."""
    given = {field.name: value for field, value in cache.ListFields()}
    return CacheContext(
        state=_CACHE_STATES.get(cache.state),
        last_call_unix_micros=given.get("last_call_unix_micros"),
        ttl_seconds=given.get("ttl_seconds"),
        further_calls=given.get("expected_further_calls"),
    )


def _check_cache(cache: pb.CacheContext, problems: list[Violation]) -> None:
    if cache.state not in pb.CacheState.values():
        problems.append(_unknown_number("context.cache.state", cache.state, "WARM, COLD or NONE"))
    for field, value in cache.ListFields():
        if field.name != "state" and value < 0:
            problem = f"{value} is below zero; leave it out when it is not known"
            problems.append(Violation(f"context.cache.{field.name}", problem))


def _unknown_number(field: str, number: int, mend: str) -> Violation:
    return Violation(field, f"{number} is not a known value; give {mend}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply on its way out.

    Attributes:
        message: The reply without its edits.
        edits: Its edits, encoded.
    """

    message: pb.PruneResponse
    edits: bytes = b""

    def encoded(self) -> bytes:
        """The whole reply: of two encoded messages, one behind the other, protobuf makes one."""
        return self.message.SerializeToString() + self.edits

    def whole(self) -> pb.PruneResponse:
        """The whole reply as one message."""
        return pb.PruneResponse.FromString(self.encoded())


def write_reply(received: Received, decided: Decided) -> Reply:
    """The reply to a decided call, in the form that was asked for."""
    reply = pb.PruneResponse(
        stats=_write_stats(decided.stats),
        decision_id=decided.decision_id,
        persisted=decided.persisted,
        unchanged_reason=decided.unchanged_reason,
    )
    if not received.edits_only:
        _write_conversation(reply, received, decided)
    if decided.edits:
        reply.first_changed_message = min(edit.message for edit in decided.edits)
    if decided.format is not None:
        reply.format = FORMAT_NUMBERS[decided.format]
    if (measured := decided.measured) is not None:
        reply.measured.tokens = measured.tokens
        reply.measured.method = measured.method
        reply.measured.error_bound = measured.error_bound
    if (economics := decided.economics) is not None:
        reply.economics.expected_saving_usd = _dollars(economics.expected_saving_usd)
        reply.economics.induced_cache_write_usd = _dollars(economics.induced_cache_write_usd)
        if economics.break_even_calls is not None:
            reply.economics.break_even_calls = economics.break_even_calls
    if (prefix := decided.prefix) is not None:
        reply.prefix.previous_messages = prefix.previous_messages
        reply.prefix.matching_messages = prefix.matching_messages
        reply.prefix.matching_tokens = prefix.matching_tokens
    if (frame := decided.turn_frame) is not None:
        reply.turn_frame.message = _well_formed(frame.message)
        reply.turn_frame.previous_context = _well_formed(frame.previous_context)
        reply.turn_frame.framed = _well_formed(frame.framed)
    for considering in decided.considering:
        _write_considering(reply.extractions.add(), considering)
    if decided.worked.encoded is None:
        decided.worked.encoded = _encoded_edits(received.chat, decided)
    return Reply(reply, decided.worked.encoded)


def _encoded_edits(chat: Chat | None, decided: Decided) -> bytes:
    """All edits, as a reply that has nothing else."""
    reply = pb.PruneResponse()
    if chat is not None:
        for edit in decided.edits:
            written = reply.edits.add()
            _write_edit(written, edit)
            written.replaced_sha256 = replaced_sha256(chat, edit)
            written.replacement_part.text = edit.new
    else:
        for edit, change in zip(decided.edits, decided.byte_edits, strict=True):
            written = reply.edits.add()
            _write_edit(written, edit)
            written.replaced_sha256 = change.sha256
            written.offset = change.offset
            written.length = change.length
            written.replacement = change.replacement
    return reply.SerializeToString()


def write_unchanged(request: pb.PruneRequest, reason: str) -> pb.PruneResponse:
    """The reply that gives a conversation back as it came, when there is no decision to tell of."""
    reply = pb.PruneResponse(
        stats=pb.PruneStats(ranking=pb.RANKING_NOT_NEEDED), unchanged_reason=reason, persisted=False
    )
    if _REPLY_FORMS.get(request.reply_form, False):
        return reply
    kind = request.WhichOneof("conversation")
    if kind == "chat":
        reply.chat.CopyFrom(request.chat)
    elif kind == "body":
        reply.body.CopyFrom(request.body)
    return reply


def _write_conversation(reply: pb.PruneResponse, received: Received, decided: Decided) -> None:
    if received.chat is not None:
        reply.chat.CopyFrom(received.chat.decoded)
        edit_messages(reply.chat, decided.edits)
        return
    body = received.call.conversation
    if not isinstance(body, Body):
        return
    changes = decided.byte_edits
    reply.body.json = splice(body.json, changes) if changes else body.json
    reply.body.format = received.body_format
    if decided.format is not None:
        reply.body.format = FORMAT_NUMBERS[decided.format]


def _dollars(amount: Decimal) -> str:
    """An amount as decimal text, without exponent, trailing zeros or a negative zero."""
    return f"{amount.normalize():f}" if amount else "0"


def _well_formed(text: str) -> str:
    """A text as a message can carry it: halves of surrogate pairs, which JSON can spell, become `?`."""
    return text.encode("utf-8", "replace").decode()


def _write_edit(written: pb.Edit, edit: Edit) -> None:
    """Fills in all that is the same in both conversation forms."""
    written.message_index = edit.message
    if edit.block is not None:
        written.block_index = edit.block
    if edit.old.index is not None:
        written.part_index = edit.old.index
    written.is_new = edit.is_new
    written.event_message_index = edit.event_message
    written.action = _ACTION_NUMBERS[edit.action]
    written.reason = edit.reason
    written.chars_before = 0 if isinstance(edit.old, ImagePart) else len(edit.old.text)
    written.chars_after = len(edit.new)
    written.tokens_before = edit.tokens_before
    written.tokens_after = edit.tokens_after
    written.reference = edit.reference
    written.extracted = edit.is_extracted


def _write_considering(written: pb.ExtractionDecision, told: Considering) -> None:
    written.message_index = told.message
    if told.block is not None:
        written.block_index = told.block
    written.gate = told.gate
    written.reason = told.reason
    written.content_class = told.content_class
    written.tokens = told.tokens
    if told.sent_tokens is not None:
        written.sent_tokens = told.sent_tokens
    written.fresh = told.is_fresh
    written.cache_state = _CACHE_NUMBERS[told.state]
    written.notes.extend(told.notes)
    if told.content_class:
        written.removed_share = told.removed_share
        written.reuses = told.reuses
        written.saving_usd = _dollars(Decimal(f"{told.saving_usd:.9f}"))
        written.call_usd = _dollars(Decimal(f"{told.call_usd:.9f}"))


def _write_stats(stats: Stats) -> pb.PruneStats:
    return pb.PruneStats(
        pruned=stats.pruned,
        original_tokens=stats.original_tokens,
        final_tokens=stats.final_tokens,
        tokens_saved=stats.tokens_saved,
        summarized=stats.summarized,
        elided=stats.elided,
        omitted=stats.omitted,
        capped=stats.capped,
        candidates=stats.candidates,
        budget_met=stats.budget_met,
        ranking=pb.Ranking.Value(f"RANKING_{stats.ranking.name}"),
        ranking_reason=stats.ranking_reason,
    )
