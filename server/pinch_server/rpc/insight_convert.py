"""Stored decisions and savings, to protobuf; filters from it."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from google.protobuf.message import Message

from pinch.v1 import insight_pb2 as pb
from pinch.v1 import prune_pb2
from pinch_server.core.decision import Decision, Outcome, Trim
from pinch_server.core.insight import DecisionFilter, StoredDecision
from pinch_server.core.limits import Violation
from pinch_server.core.rates import read_rates
from pinch_server.core.savings import Objective, Savings
from pinch_server.core.session import session_hash
from pinch_server.decide import stored_text
from pinch_server.rpc.convert import FORMAT_NUMBERS, FORMATS

_ROUTES: Final[Mapping[int, str]] = {
    prune_pb2.ROUTE_ROUTED: "ROUTED",
    prune_pb2.ROUTE_PASSTHROUGH: "PASSTHROUGH",
}
_OUTCOMES: Final[Mapping[int, str]] = {
    number: name.removeprefix("OUTCOME_") for name, number in prune_pb2.Outcome.items() if number
}
_MOST: Final = 2**31 - 1


def read_savings_filter(
    filters: pb.SavingsFilter, problems: list[Violation]
) -> tuple[str | None, str | None, str | None]:
    """Route, model and format that are asked for, None for any."""
    return (
        _choice("filters.route", filters.route, _ROUTES, problems),
        stored_text(filters.model),
        _choice("filters.format", filters.format, FORMATS, problems),
    )


def read_filter(given: pb.DecisionFilter, session_key: bytes, problems: list[Violation]) -> DecisionFilter:
    """The filter of a list; what is wrong with it is added to `problems`.

    Args:
        given: The filter as it came.
        session_key: The key that session ids are hashed with.
        problems: Takes what is wrong.
    """
    return DecisionFilter(
        created_from=_optional(given, "created_from_unix_micros"),
        created_before=_optional(given, "created_before_unix_micros"),
        route=_choice("filter.route", given.route, _ROUTES, problems),
        model=stored_text(given.model),
        format=_choice("filter.format", given.format, FORMATS, problems),
        outcome=_choice("filter.outcome", given.outcome, _OUTCOMES, problems),
        request_id=stored_text(given.request_id),
        session_hash=session_hash(given.session_id, session_key),
        pruned=_optional(given, "pruned"),
        dry_run=_optional(given, "dry_run"),
    )


def _optional(given: pb.DecisionFilter, name: Any) -> Any:
    return getattr(given, name) if given.HasField(name) else None


def _choice(field: str, number: int, names: Mapping[int, str], problems: list[Violation]) -> str | None:
    if number and number not in names:
        problems.append(Violation(field, f"{number} is not a known value; leave it out for any"))
    return names.get(number)


def write_savings(saved: Savings) -> pb.Savings:
    """Savings as they are answered."""
    fields: dict[str, Any] = saved.fields()
    return pb.Savings(**fields)


def write_decision(stored: StoredDecision, objective: Objective) -> pb.Decision:
    """A decision as it is answered, with the prices that its savings are counted at."""
    decision, outcome = stored.decision, stored.outcome
    written = pb.Decision(
        decision_id=decision.decision_id,
        created_at_unix_micros=decision.created_at,
        request_id=decision.request_id or "",
        session_hash=decision.session_hash or "",
        route=_number(prune_pb2.Route, "ROUTE", decision.route),
        model=decision.model or "",
        format=FORMAT_NUMBERS.get(decision.format, prune_pb2.FORMAT_UNSPECIFIED),
        pinch_original_tokens=decision.pinch_original_tokens,
        pinch_final_tokens=decision.pinch_final_tokens,
        extra_fixed_tokens=decision.extra_fixed_tokens,
        messages=min(decision.messages, _MOST),
        candidates=min(decision.candidates, _MOST),
        elided=min(decision.elided, _MOST),
        omitted=min(decision.omitted, _MOST),
        capped=min(decision.capped, _MOST),
        budget_met=decision.budget_met,
        ranking=_number(prune_pb2.Ranking, "RANKING", decision.ranking),
        ranking_reason=decision.ranking_reason or "",
        stability=_number(prune_pb2.Stability, "STABILITY", decision.stability),
        dry_run=decision.dry_run,
        latency_micros=decision.latency_us,
        rates=_rates(stored, objective),
        prefix=_prefix(decision),
        settings_fingerprint=decision.settings_fingerprint,
        outcome=prune_pb2.OUTCOME_PENDING,
    )
    if outcome is not None:
        _write_outcome(written, outcome)
    return written


def write_whole(stored: StoredDecision, objective: Objective) -> pb.GetDecisionResponse:
    """A decision and its receipt as they are answered."""
    trims = map(write_trim, stored.decision.trims)
    return pb.GetDecisionResponse(decision=write_decision(stored, objective), trims=trims)


def shown_decision(stored: StoredDecision, objective: Objective) -> dict[str, Any]:
    """The same as plain data under the names of the API."""
    return shown_fields(write_whole(stored, objective))


def write_trim(trim: Trim) -> pb.TrimmedPart:
    """One line of a receipt as it is answered."""
    written = pb.TrimmedPart(
        message_index=trim.message,
        tool=trim.tool,
        action=_number(prune_pb2.TrimAction, "TRIM_ACTION", trim.action),
        reason=trim.reason,
        is_new=trim.is_new,
        event_message_index=trim.event_message,
        chars_before=trim.chars_before,
        chars_after=trim.chars_after,
        tokens_before=trim.tokens_before,
        tokens_after=trim.tokens_after,
        extracted=trim.is_extracted,
    )
    if trim.block is not None:
        written.block_index = trim.block
    if trim.part is not None:
        written.part_index = trim.part
    return written


def shown_fields(message: Message) -> dict[str, Any]:
    """A message as plain data under its own names: enumerations by name, what is absent left out."""
    shown: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        if field.message_type is not None:
            # Of messages, only a list has no presence of its own.
            value = shown_fields(value) if field.has_presence else [shown_fields(one) for one in value]
        elif field.enum_type is not None:
            names = field.enum_type.values_by_number
            common = f"{re.sub('(?<=[a-z])(?=[A-Z])', '_', field.enum_type.name).upper()}_"
            value = names[value].name.removeprefix(common) if value in names else value
        shown[field.name] = value
    return shown


def _write_outcome(written: pb.Decision, outcome: Outcome) -> None:
    written.outcome = _number(prune_pb2.Outcome, "OUTCOME", outcome.outcome)
    written.outcome_at_unix_micros = outcome.reported_at
    written.selected_model = outcome.model or ""
    written.cost_usd = outcome.cost_usd or ""
    counts = {
        name: count
        for name in ("prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens")
        if (count := getattr(outcome, name)) is not None
    }
    if counts:
        written.usage.CopyFrom(prune_pb2.TokenUsage(**counts))


def _number(numbers: Any, prefix: str, name: str) -> Any:
    """An enumeration's number for a stored name; 0 for one that a later version may have stored."""
    return dict(numbers.items()).get(f"{prefix}_{name.upper()}", 0)


def _rates(stored: StoredDecision, objective: Objective) -> prune_pb2.Rates | None:
    decision, outcome = stored.decision, stored.outcome
    given = read_rates(decision.prompt_rate, decision.cached_rate, decision.cache_write_rate)
    rates = objective.rates_for(given, (outcome.model if outcome else None) or decision.model)
    if rates is None:
        return None
    return prune_pb2.Rates(
        prompt=_text(rates.prompt), cached_prompt=_text(rates.cached), cache_write=_text(rates.cache_write)
    )


def _text(price: Decimal | None) -> str:
    return "" if price is None else f"{price:f}"


def _prefix(decision: Decision) -> prune_pb2.PrefixProbe | None:
    if decision.prefix_previous_messages is None:
        return None
    return prune_pb2.PrefixProbe(
        previous_messages=min(decision.prefix_previous_messages, _MOST),
        matching_messages=min(decision.prefix_matched_messages or 0, _MOST),
        matching_tokens=decision.prefix_matched_tokens or 0,
    )
