"""What planning decides: the edits, each with its reason, and the numbers they add up to."""

from dataclasses import dataclass
from enum import StrEnum

from pinch_server.core.conversation import ImagePart, TextPart


class Action(StrEnum):
    """What was done to a part of a tool result."""

    ELIDED = "elided"
    """Head and tail kept, the middle gone."""
    OMITTED = "omitted"
    """A placeholder or a note in its place."""
    CAPPED = "capped"
    """Elided although protected, because it was outsized."""


class Reason(StrEnum):
    """Why a result was open to trimming."""

    OUTSIDE_WINDOW = "outside_window"
    CONTRACTION = "contraction"
    OUTSIZED = "outsized"
    FRESH_OUTSIZED = "fresh_outsized"


class Ranking(StrEnum):
    """How the candidates of this call were ordered."""

    HYBRID = "hybrid"
    COSINE = "cosine"
    LEXICAL = "lexical"
    UNIFORM = "uniform"
    NOT_NEEDED = "not_needed"


@dataclass(frozen=True, slots=True)
class Edit:
    """One changed part.

    Attributes:
        message: Index of the message it stands in.
        block: Index of its block in the message; None where the whole message is the result.
        tool: The tool whose result it belongs to.
        old: The part as it came.
        new: The text that ships in its place.
        action: What was done.
        reason: Why it was open to trimming.
        event_message: The number of messages that stood before the point at which this was decided.
        is_new: Whether it was first made in this call.
        tokens_before: What the old part counts (tokens).
        tokens_after: What the new text counts (tokens).
        removed_before: What of it was gone by an earlier event already, where this one is new (tokens).
        reference: Names the original for whoever asks for it; empty where none is kept.
        is_extracted: Whether the new text is what a filter left, in the place of an excerpt.
    """

    message: int
    block: int | None
    tool: str
    old: TextPart | ImagePart
    new: str
    action: Action
    reason: Reason
    event_message: int
    is_new: bool
    tokens_before: int
    tokens_after: int
    removed_before: int = 0
    reference: str = ""
    is_extracted: bool = False


@dataclass(frozen=True, slots=True)
class Stats:
    """The numbers of one plan.

    Attributes:
        pruned: Whether anything changes.
        original_tokens: The size that came, fixed tokens included.
        final_tokens: The size that ships, fixed tokens included.
        tokens_saved: The difference, never below zero.
        summarized: Results that change.
        elided: Those of them with head and tail kept.
        omitted: Those with a placeholder, or with an image left out and nothing else.
        capped: Those elided inside the protected window.
        candidates: Results that were open to trimming outside the cap.
        budget_met: Whether what ships is within the budget.
        ranking: How candidates were ordered.
        ranking_reason: Why not in a better way; empty when nothing stood in the way.
        fixed_tokens: What ships beside the messages, in both sizes (tokens).
    """

    pruned: bool
    original_tokens: int
    final_tokens: int
    tokens_saved: int
    summarized: int
    elided: int
    omitted: int
    capped: int
    candidates: int
    budget_met: bool
    ranking: Ranking
    ranking_reason: str = ""
    fixed_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision over one conversation.

    Attributes:
        edits: What changes, in the order of the conversation.
        stats: What that adds up to.
        unchanged_reason: Why nothing changes, as a slug; empty when something does.
    """

    edits: tuple[Edit, ...]
    stats: Stats
    unchanged_reason: str = ""

    @property
    def first_changed_message(self) -> int | None:
        """Index of the first message that changes; None when none does."""
        return self.edits[0].message if self.edits else None
