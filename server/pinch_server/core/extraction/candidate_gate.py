"""The gates one tool result passes before the economic one, in their order.

Design of extraction, section 3. A result that is replayed passes none of them again.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from pinch_server.core.extraction.guard import needed_tokens
from pinch_server.core.extraction.request_gate import Opened

_READ_LINES: Final = 40
_LEAST_LINES: Final = 8
_READ_SHARE: Final = 0.6
_KEPT_SHARE: Final = 0.75
"""What the last line of an extraction and the notes at its gaps leave to its text."""
_NUMBERED_LINE: Final = re.compile(r" {0,6}\d+[\t ]")


class Gate(StrEnum):
    """What became of a candidate, as replies and metrics call it."""

    NON_TEXT = "non_text_blocks"
    EMPTY_OR_MARKED = "empty_or_marker_present"
    EXPANDED = "kept_verbatim_after_expand"
    REPLAYED_SESSION = "reapplied_same_session"
    CACHED_PREFIX = "cached_prefix"
    CACHED_PREFIX_LARGE = "cached_prefix_above_floor"
    REPLAYED_OTHERS = "reapplied_cross_session"
    BELOW_FLOOR = "below_output_floor"
    NOT_FIRED = "request_trigger_not_fired"
    NO_MODEL = "no_model_this_request"
    PER_OUTPUT_OFF = "per_output_disabled"
    NO_KEYWORDS = "no_goal_keywords"
    FILE_READ = "skip_file_read"
    OVER_CONTEXT = "over_model_context"
    CANNOT_FIT = "cannot_fit_the_elision"
    REFUSED_BEFORE = "refused_before"
    ECONOMIC = "economic_gate"
    ADVISORY = "economic_gate_advisory"
    OVER_SWEEP = "over_cold_sweep_cap"
    OVER_REQUEST = "over_per_request_cap"
    OVER_SESSION = "over_per_session_cap"
    ALLOWED = "allowed"


class Known(StrEnum):
    """What is frozen of a candidate's content."""

    NOTHING = "nothing"
    SESSION = "session"
    """It was extracted before its first trim in this very history."""
    OTHERS = "others"
    """It was extracted for another history, or ahead of this one's trim."""
    REFUSED = "refused"
    """A filter was written for it, and what that left was not accepted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool result that may be extracted.

    Attributes:
        text: What it says, where it is one text.
        tokens: Its size (tokens).
        is_text: Whether it is one text and nothing else.
        is_marked: Whether it came trimmed or extracted already.
        was_expanded: Whether the agent asked for this content's original.
        was_sent_trimmed: Whether it was sent in a trimmed form before, which stands for good.
        known: What is frozen of it.
        index: Its message.
        elided_tokens: What the elision leaves of it; None where it is not elided (tokens).
    """

    text: str
    tokens: int
    is_text: bool = True
    is_marked: bool = False
    was_expanded: bool = False
    was_sent_trimmed: bool = False
    known: Known = Known.NOTHING
    index: int = 0
    elided_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """What the gates need to know beside the candidate and the request.

    Attributes:
        is_caching: Whether the provider caches prompts.
        cached_to: Index of the last message that the provider's cache may hold; None where nobody knows.
        is_first_turn: Whether the conversation was never sent before.
        skips_file_reads: Whether line-numbered reads are left whole; None: where the provider caches.
        model_window: The window of the extraction model (tokens).
        goal_tokens: Size of the goal (tokens).
        keep_ratio: Least share of the tokens that an accepted result keeps (0 to 1).
    """

    is_caching: bool
    model_window: int
    goal_tokens: int = 0
    cached_to: int | None = None
    is_first_turn: bool = False
    skips_file_reads: bool | None = None
    keep_ratio: float = 0.05


def gate_of(candidate: Candidate, opened: Opened, around: Around, shown_tokens: int) -> Gate:
    """The first gate that a candidate does not pass; `ALLOWED` when the economic one is next.

    Args:
        candidate: The result.
        opened: What its request may do.
        around: What else is known.
        shown_tokens: Size of what a prompt would show of it (tokens).
    """
    settled = _settled(candidate, opened, around)
    if settled is not None:
        return settled
    if candidate.tokens < opened.floor_tokens:
        return Gate.BELOW_FLOOR
    is_huge = opened.huge_tokens is not None and candidate.tokens >= opened.huge_tokens
    if not around.is_caching and not opened.fires and not is_huge:
        return Gate.NOT_FIRED
    if not opened.may_call:
        return Gate(opened.gate)
    if _skips_reads(opened, around) and is_numbered_read(candidate.text):
        return Gate.FILE_READ
    if needed_tokens(shown_tokens, around.goal_tokens) > around.model_window:
        return Gate.OVER_CONTEXT
    return Gate.ALLOWED if can_fit(candidate, around.keep_ratio) else Gate.CANNOT_FIT


def can_fit(candidate: Candidate, keep_ratio: float) -> bool:
    """Whether what a filter must keep at least is not more than the excerpt in whose place it would stand."""
    elided = candidate.elided_tokens
    return elided is None or candidate.tokens * keep_ratio <= elided * _KEPT_SHARE


def _settled(candidate: Candidate, opened: Opened, around: Around) -> Gate | None:
    """What needs no model, or must not have one, whatever the request may do; None for the others."""
    if not candidate.is_text:
        return Gate.NON_TEXT
    if candidate.is_marked or not candidate.text.strip():
        return Gate.EMPTY_OR_MARKED
    if candidate.was_expanded:
        return Gate.EXPANDED
    if candidate.known is Known.SESSION:
        return Gate.REPLAYED_SESSION
    if candidate.was_sent_trimmed or _is_cached(candidate.index, opened, around):
        is_large = candidate.tokens >= opened.floor_tokens
        return Gate.CACHED_PREFIX_LARGE if is_large else Gate.CACHED_PREFIX
    return {Known.OTHERS: Gate.REPLAYED_OTHERS, Known.REFUSED: Gate.REFUSED_BEFORE}.get(candidate.known)


def _is_cached(index: int, opened: Opened, around: Around) -> bool:
    """Whether a message may be in the provider's cache; where nobody knows, all but a first turn's are."""
    if not around.is_caching or opened.is_sweeping:
        return False
    if around.cached_to is None:
        return not around.is_first_turn
    return index <= around.cached_to


def _skips_reads(opened: Opened, around: Around) -> bool:
    if around.skips_file_reads is not None:
        return around.skips_file_reads
    return around.is_caching and not opened.is_sweeping


def is_numbered_read(text: str) -> bool:
    """Whether a text looks like a file that was read with its line numbers."""
    lines = list(islice((line for line in text.splitlines() if line.strip()), _READ_LINES))
    numbered = sum(_NUMBERED_LINE.match(line) is not None for line in lines)
    return len(lines) >= _LEAST_LINES and numbered >= _READ_SHARE * len(lines)


@dataclass(frozen=True, slots=True)
class Caps:
    """How often the model may be called; 0 is no bound, and -1 none for a sweep.

    Attributes:
        per_request: For one request.
        per_session: For one session.
        per_sweep: For one cold sweep, which draws on neither of the others.
    """

    per_request: int = 0
    per_session: int = 0
    per_sweep: int = 4


def capped(caps: Caps, *, is_sweeping: bool, in_request: int, in_session: int) -> Gate | None:
    """The cap that one more call would exceed; None when it may be made.

    Args:
        caps: The bounds.
        is_sweeping: Whether this is a cold sweep.
        in_request: Calls already made or reserved for the request.
        in_session: Calls already made or reserved for the session.
    """
    if is_sweeping:
        return Gate.OVER_SWEEP if 0 <= caps.per_sweep <= in_request else None
    if 0 < caps.per_request <= in_request:
        return Gate.OVER_REQUEST
    return Gate.OVER_SESSION if 0 < caps.per_session <= in_session else None
