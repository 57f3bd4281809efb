"""The Insight of a running service: questions about decisions, answered from the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from pinch_server.core.insight import (
    ActivityHour,
    DecisionFilter,
    Page,
    Position,
    SavedTokens,
    SavingsQuery,
    StoredDecision,
)
from pinch_server.ports import InsightUnavailableError
from pinch_server.store import activity, decisions, listing, savings


class DatabaseInsight:
    """Reads what the journals have handed over; a decision is there some milliseconds after its reply."""

    def __init__(self, engine: Engine, *, grace_us: int) -> None:
        """Read from `engine`; an unreported decision counts after `grace_us` microseconds."""
        self._engine = engine
        self._grace_us = grace_us

    def savings(self, query: SavingsQuery) -> SavedTokens:
        """Add up what the calls of a window saved."""
        with _told():
            return savings.saved_tokens(self._engine, query, grace_us=self._grace_us)

    def activity(self, now: int, days: int) -> tuple[ActivityHour, ...]:
        """Return what the calls of each hour did."""
        with _told():
            return activity.hours(self._engine, now, days, grace_us=self._grace_us)

    def decision(self, decision_id: str) -> StoredDecision | None:
        """Return the decision of that id, None when the database does not have it."""
        with _told():
            return decisions.get(self._engine, decision_id)

    def page(self, chosen: DecisionFilter, size: int, after: Position | None = None) -> Page:
        """Return at most `size` decisions, newest first, those after a position when one is given."""
        with _told():
            return listing.page(self._engine, chosen, size, after)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        # By its kind alone: what a database says may hold its address and the values of a statement.
        raise InsightUnavailableError(type(error).__name__) from error
