"""What the use case needs from the world, each as one small protocol."""

from datetime import datetime
from typing import Protocol

from pinch_server.core.decision import Decision, Outcome


class Recorder(Protocol):
    """Keeps decisions and what became of them."""

    def record(self, decision: Decision) -> bool:
        """Keeps one decision; True once it can no longer be lost, False when it could not be kept."""
        ...

    def report(self, outcome: Outcome) -> bool:
        """Keeps one report; True once it can no longer be lost, False when it could not be kept."""
        ...

    def close(self) -> None:
        """Moves what is kept to where it is read, and stops."""
        ...


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        ...

    def monotonic(self) -> float:
        """A clock that never goes back (seconds)."""
        ...


class Ids(Protocol):
    """New identifiers."""

    def decision_id(self, now: datetime) -> str:
        """A UUIDv7 that no other decision has, in its canonical text form."""
        ...


class Observer(Protocol):
    """Counts what was decided."""

    def decided(
        self,
        *,
        route: str,
        result: str,
        original_tokens: int,
        final_tokens: int | None,
        elided: int,
        omitted: int,
        capped: int,
        budget_met: bool,
    ) -> None:
        """Counts one answered call.

        Args:
            route: `routed`, `passthrough` or `unspecified`.
            result: What came of it, as a slug: `pruned`, `within_budget`, `nothing_to_trim`, `disabled`,
                `dry_run`, `not_understood` or `internal_error`.
            original_tokens: The size that came (tokens).
            final_tokens: The size that ships (tokens); None when pruning was disabled.
            elided: Results elided.
            omitted: Results replaced by a placeholder.
            capped: Protected results that were capped.
            budget_met: Whether what ships is within the budget.
        """
        ...

    def ranked(self, outcome: str) -> None:
        """Counts how the candidates of one call were ordered, in the words of `core.plan.Ranking`."""
        ...

    def stage(self, name: str, seconds: float) -> None:
        """Adds the time one stage of a call took: `read`, `plan`, `write` or `record`."""
        ...
