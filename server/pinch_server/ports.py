"""What the use case needs from the world, each as one small protocol."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.decision import Decision, Outcome
from pinch_server.core.embedding import Unavailable, Vectors
from pinch_server.core.extraction.considered import Considered, ExtractionCall
from pinch_server.core.insight import (
    DecisionFilter,
    Page,
    Position,
    SavedTokens,
    SavingsQuery,
    StoredDecision,
)

WhenGone = Callable[[Callable[[], None]], bool]
"""Registers what to do when a call ends; False when it has ended already."""


class Embedder(Protocol):
    """Makes vectors of texts; shared by threads, and never raises."""

    @property
    def is_local(self) -> bool:
        """Whether a vector is made in this process, the same bits whenever and wherever it is made."""
        ...

    def embed(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None = None
    ) -> Vectors | Unavailable:
        """Embeds texts, in one round trip at most; a blank one gets a zero row.

        Args:
            texts: Any texts, excerpts already.
            seconds: Time for it (seconds).
            when_gone: Registers a callback for the end of the call that this is for.
        """
        ...

    def recall(self, texts: Sequence[str]) -> tuple[NDArray[np.float32] | None, ...]:
        """The vectors that are known already, None for the others; makes no round trip."""
        ...

    def close(self) -> None:
        """Lets go of what it holds."""
        ...


class RoundTrip(Protocol):
    """One round trip to another service, as whoever traces calls sees it."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that go with it."""
        ...

    def failed(self, fault: str) -> None:
        """Notes why there was no answer, as a slug."""
        ...


RoundTrips = Callable[[], AbstractContextManager[RoundTrip]]
"""Makes the context of a round trip; called in the thread of the call that it is for."""


class Extractor(Protocol):
    """Puts extractions in the place of elisions; shared by threads."""

    def consider(self, call: ExtractionCall) -> Considered:
        """The plan with those extractions that were frozen before their results' first trims, or as it is.

        Args:
            call: The call, planned.
        """
        ...

    def follow_up(self, considered: Considered) -> None:
        """Begins what was put off until the answer was out."""
        ...

    def close(self) -> None:
        """Ends what is under way."""
        ...


class Originals(Protocol):
    """Keeps originals of trimmed results, each tenant's for itself; shared by threads, and never raises."""

    def reference(self, tenant: str, text: str) -> str:
        """The reference of a text, the same on every replica; empty where it is too long to be kept."""
        ...

    def keep(self, tenant: str, texts: Sequence[str]) -> None:
        """Keeps texts some time soon."""
        ...

    def expand(self, tenant: str, reference: str) -> str | None:
        """The text of a reference of this tenant; None where there is none (any more)."""
        ...


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


class InsightUnavailableError(Exception):
    """Stored decisions cannot be read now; the call may be made again.

    Args:
        kind: What failed, by its type.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(f"stored decisions cannot be read now ({kind}); try again later")


class Insight(Protocol):
    """Answers questions about stored decisions; each method may raise `InsightUnavailableError`."""

    def savings(self, query: SavingsQuery) -> SavedTokens:
        """Adds up what the calls of a window saved."""
        ...

    def decision(self, decision_id: str) -> StoredDecision | None:
        """The decision of that id; None when it is not stored (yet)."""
        ...

    def page(self, chosen: DecisionFilter, size: int, after: Position | None = None) -> Page:
        """At most `size` decisions, newest first, those after a position when one is given."""
        ...


class NotTurnedError(Exception):
    """Runtime knobs were not turned, or not in every process in time; the text says which and why."""


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

    def prefix_matched(self, share: float) -> None:
        """Notes how much of a session's previous payload the next one repeated (0 to 1)."""
        ...

    def ranked(self, outcome: str) -> None:
        """Counts how the candidates of one call were ordered, in the words of `core.plan.Ranking`."""
        ...

    def stage(self, name: str, seconds: float) -> None:
        """Adds the time one stage of a call took: `read`, `plan`, `extract`, `write` or `record`."""
        ...
