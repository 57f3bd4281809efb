"""Between the core's dataclasses and rows of the database."""

from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, cast

from sqlalchemy import RowMapping

from pinch_server.core.decision import Decision, Outcome, OutcomeName
from pinch_server.core.insight import StoredDecision
from pinch_server.store.tables import PENDING

_LARGEST = 2**63 - 1
DECISION_FIELDS = tuple(field.name for field in fields(Decision) if field.name != "trims")
_decision_values = attrgetter(*DECISION_FIELDS)


def decision_row(decision: Decision) -> dict[str, Any]:
    """Return the row of `prune_decisions` for a decision, without its outcome columns and its receipt."""
    return dict(zip(DECISION_FIELDS, map(storable, _decision_values(decision)), strict=True))


def outcome_row(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome columns and `decision_id` of a report."""
    row = {
        "decision_id": outcome.decision_id,
        "outcome": outcome.outcome.lower(),
        "reported_at": outcome.reported_at,
        "outcome_model": outcome.model,
        "outcome_prompt_tokens": outcome.prompt_tokens,
        "outcome_cached_tokens": outcome.cached_tokens,
        "outcome_cache_write_tokens": outcome.cache_write_tokens,
        "outcome_completion_tokens": outcome.completion_tokens,
        "outcome_cost_usd": outcome.cost_usd,
    }
    return {name: storable(value) for name, value in row.items()}


def stored_of(row: RowMapping) -> StoredDecision:
    """Return the decision of a row of `prune_decisions`, with its outcome."""
    columns = dict(row)
    return StoredDecision(decision_of(columns), outcome_of(columns))


def decision_of(row: Mapping[str, Any]) -> Decision:
    """Return the decision of a row of `prune_decisions`."""
    return Decision(**{name: row[name] for name in DECISION_FIELDS})


def outcome_of(row: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome of a row of `prune_decisions`, or None while it is pending."""
    if row["outcome"] == PENDING:
        return None
    return Outcome(
        decision_id=row["decision_id"],
        reported_at=row["reported_at"],
        outcome=cast(OutcomeName, row["outcome"].upper()),
        model=row["outcome_model"],
        prompt_tokens=row["outcome_prompt_tokens"],
        cached_tokens=row["outcome_cached_tokens"],
        cache_write_tokens=row["outcome_cache_write_tokens"],
        completion_tokens=row["outcome_completion_tokens"],
        cost_usd=row["outcome_cost_usd"],
    )


def storable(value: Any) -> Any:
    """Return the value as both databases accept it: PostgreSQL refuses NUL, both refuse over 64 bits."""
    # Most of the drain's work on a row would be here: hence the exact types, and sound values left alone.
    kind = type(value)
    if kind is str and "\x00" in value:
        return value.replace("\x00", "\ufffd")
    if kind is int and not -_LARGEST <= value <= _LARGEST:
        return _LARGEST if value > 0 else -_LARGEST
    return value
