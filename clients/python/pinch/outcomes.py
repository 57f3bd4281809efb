"""The request that reports what became of a pruned conversation."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypedDict

from pinch.errors import RequestError
from pinch.v1.prune_pb2 import ReportOutcomeRequest

if TYPE_CHECKING:
    from pinch.v1.prune_pb2 import Outcome, TokenUsage


_DIGITS: Final = 12
"""Most digits of an amount behind the point."""


class OutcomeOptions(TypedDict, total=False):
    """Keywords of `report_outcome`; each may be left out.

    Attributes:
        selected_model: Name of the model that was called.
        usage: What the provider counted.
        cost_usd: What the call cost, in US dollars; a text must be plain decimal, such as `0.0123`, with at
            most 12 digits on either side of the point. A Decimal is rounded to 12 behind it.
        timeout: Time for this call, its retry included, in seconds, instead of the client's.
    """

    selected_model: str
    usage: TokenUsage | None
    cost_usd: Decimal | str | None
    timeout: float | None


@dataclass(frozen=True, slots=True)
class PreparedOutcome:
    """A report that is ready to be sent."""

    request: ReportOutcomeRequest
    timeout: float | None


def prepare_outcome(
    decision_id: str,
    outcome: Outcome.ValueType,
    *,
    selected_model: str = "",
    usage: TokenUsage | None = None,
    cost_usd: Decimal | str | None = None,
    timeout: float | None = None,
) -> PreparedOutcome:
    """Makes the request.

    Raises:
        RequestError: There is no decision id, since the conversation was returned after a failure, or a text
            has no UTF-8.
    """
    if not decision_id:
        raise RequestError("there is no decision to report on")
    # A Decimal's own text may use an exponent, which the contract does not.
    cost = _plain(cost_usd) if isinstance(cost_usd, Decimal) else cost_usd
    try:
        request = ReportOutcomeRequest(
            decision_id=decision_id,
            outcome=outcome,
            selected_model=selected_model,
            usage=usage,
            cost_usd=cost or "",
        )
    except UnicodeEncodeError as error:  # half a surrogate pair, which a request's JSON may well hold
        raise RequestError("the report cannot be encoded") from error
    return PreparedOutcome(request, timeout)


def _plain(amount: Decimal) -> str:
    text = f"{amount:f}"
    return f"{amount:.{_DIGITS}f}" if len(text.partition(".")[2]) > _DIGITS else text
