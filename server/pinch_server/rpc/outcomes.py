"""Reports of what became of a decision, checked field by field."""

import re
from typing import Final

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.decision import Outcome, OutcomeName
from pinch_server.core.limits import Violation
from pinch_server.core.money import is_amount
from pinch_server.decide import InvalidCallError, stored_text

UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OUTCOMES: Final[dict[int, OutcomeName]] = {
    pb.OUTCOME_DISPATCHED: "DISPATCHED",
    pb.OUTCOME_REJECTED: "REJECTED",
    pb.OUTCOME_FAILED: "FAILED",
}
_COUNTS: Final = ("prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens")


def read_outcome(request: pb.ReportOutcomeRequest, reported_at: int) -> Outcome:
    """Reads a report.

    Args:
        request: The report as it came.
        reported_at: When it came, in microseconds since the Unix epoch.

    Raises:
        InvalidCallError: The report breaks its contract; every violation at once.
    """
    problems: list[Violation] = []
    decision_id = request.decision_id.lower()
    if not UUID.fullmatch(decision_id):
        problems.append(Violation("decision_id", "is not a UUID; give the one from the reply of Prune"))
    outcome = _OUTCOMES.get(request.outcome)
    if outcome is None:
        problems.append(_unknown_outcome(request.outcome))
    usage = request.usage
    counts = {name: getattr(usage, name) for name in _COUNTS if usage.HasField(name)}
    problems.extend(
        Violation(f"usage.{name}", f"{count} is below zero; leave it out when it is not known")
        for name, count in counts.items()
        if count < 0
    )
    if request.cost_usd and not is_amount(request.cost_usd):
        problems.append(
            Violation(
                "cost_usd", f"{request.cost_usd!r} is not an amount; give USD as a decimal such as 0.0123"
            )
        )
    if problems or outcome is None:
        raise InvalidCallError(tuple(problems))
    return Outcome(
        decision_id=decision_id,
        reported_at=reported_at,
        outcome=outcome,
        model=stored_text(request.selected_model),
        cost_usd=request.cost_usd or None,
        **counts,
    )


def _unknown_outcome(number: int) -> Violation:
    names: dict[int, str] = {number: name.removeprefix("OUTCOME_") for name, number in pb.Outcome.items()}
    return Violation(
        "outcome", f"{names.get(number, number)} cannot be reported; give DISPATCHED, REJECTED or FAILED"
    )
