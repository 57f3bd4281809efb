"""The result of one call: what to send on, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from pinch.errors import PinchError
    from pinch.v1.prune_pb2 import (
        Economics,
        Edit,
        ExtractionDecision,
        Measured,
        PrefixProbe,
        PruneStats,
        TurnFrame,
    )

ConversationT = TypeVar("ConversationT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned(Generic[ConversationT]):
    """A conversation that is ready to be sent to a model.

    Attributes:
        body: The conversation, of the type that came in. When nothing changed, the caller's own object.
        pruned: Whether `body` differs from what came in.
        reason: Why nothing changed, as a slug: the server's (such as `within_budget`) or the failure's (such
            as `deadline_exceeded`). None when something changed.
        error: The failure that made the client return the conversation as it came, in its words; or None.
        stats: The server's account. None after a failure, like every field below that may be None.
        measured: Estimated prompt tokens of what ships, with method and relative error bound.
        decision_id: Identifier for `report_outcome`; empty after a failure.
        persisted: Whether the server holds the decision safely.
        edits: What was changed, in order.
        first_changed_message: Zero-based index of the first changed message, or None.
        turn_frame: The newest user turn with a little context, for the router's own classifier.
        economics: What the trims are worth, when rates are known.
        prefix: How much of the session's previous payload repeats, when the probe ran.
        extractions: What became of each result that a filter was thought of for; empty while extraction is
            off.
    """

    body: ConversationT
    pruned: bool
    reason: str | None
    error: PinchError | None = None
    stats: PruneStats | None = None
    measured: Measured | None = None
    decision_id: str = ""
    persisted: bool = False
    edits: tuple[Edit, ...] = ()
    first_changed_message: int | None = None
    turn_frame: TurnFrame | None = None
    economics: Economics | None = None
    prefix: PrefixProbe | None = None
    extractions: tuple[ExtractionDecision, ...] = ()


def unpruned(conversation: ConversationT, error: PinchError) -> Pruned[ConversationT]:
    """The fail-open result: the caller's own conversation, with the reason (C1)."""
    return Pruned(body=conversation, pruned=False, reason=error.reason, error=error)
