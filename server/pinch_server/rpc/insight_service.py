"""Questions about stored decisions, over gRPC."""

from collections.abc import Callable
from typing import Final

import grpc

from pinch.v1 import insight_pb2 as pb
from pinch.v1 import insight_pb2_grpc as pb_grpc
from pinch_server.core.insight import SavingsQuery
from pinch_server.core.limits import Violation
from pinch_server.core.moments import unix_micros
from pinch_server.core.savings import Objective, savings
from pinch_server.decide import InvalidCallError
from pinch_server.ports import Clock, Insight
from pinch_server.rpc.errors import NoDecisionError
from pinch_server.rpc.insight_convert import (
    read_filter,
    read_savings_filter,
    write_decision,
    write_savings,
    write_whole,
)
from pinch_server.rpc.outcomes import UUID
from pinch_server.rpc.paging import page_size, position_of, token_of

STANDARD_DAYS: Final = 30
"""The window of a request that names none (days)."""
_MOST_DAYS: Final = 3_650


class InsightService(pb_grpc.InsightServiceServicer):
    """Answers GetSavings, GetDecision and ListDecisions."""

    def __init__(
        self,
        insight: Insight,
        objective: Objective,
        is_enabled: Callable[[], bool],
        session_key: bytes,
        clock: Clock,
    ) -> None:
        self._insight = insight
        self._objective = objective
        self._is_enabled = is_enabled
        self._session_key = session_key
        self._clock = clock

    def GetSavings(  # noqa: N802 the contract names it
        self, request: pb.GetSavingsRequest, context: grpc.ServicerContext
    ) -> pb.GetSavingsResponse:
        """Adds up and prices the window that ends now; there is nothing to show while pruning is off."""
        del context
        problems: list[Violation] = []
        days = request.window_days if request.HasField("window_days") else STANDARD_DAYS
        if not 1 <= days <= _MOST_DAYS:
            problems.append(Violation("window_days", f"{days} is out of range; give 1 to {_MOST_DAYS}"))
        route, model, dialect = read_savings_filter(request.filters, problems)
        if problems:
            raise InvalidCallError(tuple(problems))
        if not self._is_enabled():
            return pb.GetSavingsResponse()
        now = self._clock.now()
        found = self._insight.savings(SavingsQuery(unix_micros(now), days, route, model, dialect))
        saved = savings(found.sums, found.median, self._objective, window_days=days, today=now.date())
        return pb.GetSavingsResponse(savings=write_savings(saved))

    def GetDecision(  # noqa: N802 the contract names it
        self, request: pb.GetDecisionRequest, context: grpc.ServicerContext
    ) -> pb.GetDecisionResponse:
        """Finds one decision."""
        del context
        decision_id = request.decision_id.lower()
        if not UUID.fullmatch(decision_id):
            problem = Violation("decision_id", "is not a UUID; give the one from the reply of Prune")
            raise InvalidCallError((problem,))
        found = self._insight.decision(decision_id)
        if found is None:
            raise NoDecisionError
        return write_whole(found, self._objective)

    def ListDecisions(  # noqa: N802 the contract names it
        self, request: pb.ListDecisionsRequest, context: grpc.ServicerContext
    ) -> pb.ListDecisionsResponse:
        """Gives one page, newest first, and the token of the next where there is one."""
        del context
        problems: list[Violation] = []
        chosen = read_filter(request.filter, self._session_key, problems)
        size = page_size(request.page_size, problems)
        after = position_of(request, problems)
        if problems:
            raise InvalidCallError(tuple(problems))
        found = self._insight.page(chosen, size, after)
        reply = pb.ListDecisionsResponse(
            decisions=[write_decision(one, self._objective) for one in found.decisions]
        )
        if found.last is not None:
            reply.next_page_token = token_of(request, found.last)
        return reply
