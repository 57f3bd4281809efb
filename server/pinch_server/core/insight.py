"""Questions about stored decisions, and what answers them."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from pinch_server.core.decision import Decision, Outcome
from pinch_server.core.savings import Sums


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision as the database has it, with its outcome once one was reported."""

    decision: Decision
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Selects decisions that meet all that is set; None selects any.

    Attributes:
        created_from: Made at or after this (microseconds since the Unix epoch).
        created_before: Made before this (likewise).
        route: Of this route.
        model: With this expected model.
        format: Of this dialect; `chat` for typed messages.
        outcome: With this outcome, or PENDING.
        request_id: Of this request.
        session_hash: Of this session.
        pruned: Whether they made the conversation smaller.
        dry_run: Whether they were dry runs.
    """

    created_from: int | None = None
    created_before: int | None = None
    route: str | None = None
    model: str | None = None
    format: str | None = None
    outcome: str | None = None
    request_id: str | None = None
    session_hash: str | None = None
    pruned: bool | None = None
    dry_run: bool | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the list of decisions, newest first: just after the decision of this time and id."""

    created_at: int
    decision_id: str


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the list of decisions.

    Attributes:
        decisions: The newest first.
        last: Where the next page goes on; None when there is no more. A page that was looked for in as many
            decisions as one question may cost has fewer than were asked for, perhaps none, and a next one.
    """

    decisions: tuple[StoredDecision, ...]
    last: Position | None


@dataclass(frozen=True, slots=True)
class SavingsQuery:
    """Which calls' savings are added up.

    Attributes:
        now: The end of the window (microseconds since the Unix epoch).
        window_days: Its length (days).
        route: Only this route; None: all.
        model: Only this expected model; None: all.
        format: Only this dialect; None: all.
    """

    now: int
    window_days: int
    route: str | None = None
    model: str | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class SavedTokens:
    """What a window holds.

    Attributes:
        sums: Its calls, in groups that are priced alike.
        median: The middle of what pruned calls saved (tokens); None without any.
    """

    sums: tuple[Sums, ...]
    median: Decimal | None


@dataclass(frozen=True, slots=True)
class ActivityHour:
    """What the calls of one hour did; those that count towards the savings, and no others.

    Attributes:
        start: When it began (microseconds since the Unix epoch).
        counts: By name: `calls`, `pruned_calls`, `tokens_before`, `tokens_after`, `tokens_saved`; calls by
            how their candidates were ordered, `ranking_hybrid` and so on; calls by the time they took,
            `latency_us_500` for those of at most 500 microseconds that are in no lower one, and
            `latency_us_inf`; `previous_messages` and `matched_messages` of the prefix probe; results trimmed
            for the first time, by what was done, `elided`, `omitted` and `capped`, and by tool, `tool_bash`.
            A missing name is 0.
    """

    start: int
    counts: Mapping[str, int]
