"""The last calls of a session, as decisions and the outcomes reported for them tell."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Engine, func, not_, select

from pinch_server.core.extraction.cold import PastCall
from pinch_server.store.tables import prune_decisions
from pinch_server.store.waiting import WAIT_SECONDS, Waiting

MOST_CALLS: Final = 8
"""How many are looked at."""


class DatabasePastCalls:
    """Calls of sessions in a database. Shared by threads.

    Args:
        engine: The database; its schema should be current.
        wait_seconds: How long a call waits (seconds).
    """

    def __init__(self, engine: Engine, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self._engine = engine
        self._waiting = Waiting("the calls of a session", wait_seconds)

    def recent(self, session: str, tenant: str | None) -> Sequence[PastCall] | None:
        """The last calls of a session that changed anything or may have, newest first.

        Args:
            session: The hash of its name.
            tenant: The hash of whose it is; None where callers are not told apart.

        Returns:
            None when the database does not say in time.
        """
        return self._waiting.ask(lambda _gone: self._recent(session, tenant))

    def longest_ttl(self, session: str, tenant: str | None) -> int | None:
        """The longest time to live that a session ever asked for; 0 for none (seconds).

        Args:
            session: The hash of its name.
            tenant: The hash of whose it is; None where callers are not told apart.

        Returns:
            None when the database does not say in time.
        """
        return self._waiting.ask(lambda _gone: self._longest_ttl(session, tenant))

    def close(self) -> None:
        """Finishes what is under way, and ends the threads."""
        self._waiting.close()

    def _recent(self, session: str, tenant: str | None) -> tuple[PastCall, ...]:
        d = prune_decisions.c
        query = (
            select(
                d.created_at, d.outcome_prompt_tokens, d.outcome_cached_tokens, d.outcome_cache_write_tokens
            )
            .where(*_of(session, tenant))
            .order_by(d.created_at.desc(), d.decision_id.desc())
            .limit(MOST_CALLS)
        )
        with self._engine.connect() as connection:
            return tuple(PastCall(*row) for row in connection.execute(query))

    def _longest_ttl(self, session: str, tenant: str | None) -> int:
        longest = func.max(prune_decisions.c.cache_ttl_seconds)
        with self._engine.connect() as connection:
            return connection.scalar(select(longest).where(*_of(session, tenant))) or 0


def _of(session: str, tenant: str | None) -> tuple[ColumnElement[bool], ...]:
    d = prune_decisions.c
    whose = d.tenant_hash.is_(None) if tenant is None else d.tenant_hash == tenant
    return d.session_hash == session, whose, not_(d.dry_run)
