"""The checks that what a filter left of a result must pass before it may take the result's place."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pinch_server.core.counting import Counter
from pinch_server.core.extraction.derivation import is_subsequence, traced_share
from pinch_server.core.extraction.gaps import with_gaps_noted
from pinch_server.core.extraction.keep_ids import dropped_id
from pinch_server.core.extraction.notes import content_lines, has_note, without_notes

ACCEPTANCE_VERSION: Final = "a1"
"""Names what the checks mean; part of every frozen result's key, so that a change of them makes new ones."""
LEAST_TRACED: Final = 0.9
"""The share of a rewritten result that must stand in the body."""
_DEGENERATE: Final = frozenset({"[]", "{}", "null", '""', "[{}]", "None"})


class Refusal(StrEnum):
    """The check that failed. Fit for labels: no text of any conversation."""

    EMPTY = "program produced an empty OUTPUT"
    NOT_SMALLER = "result not smaller"
    CAPPED = "truncated at the character cap"
    WINDOW = "a contiguous window is not a reduction of this content"
    EMPTY_RESULT = "acceptance check: empty result"
    DEGENERATE = "acceptance check: degenerate result"
    KEEP_RATIO = "acceptance check: below the keep-ratio floor"
    DROPPED_ID = "acceptance check: dropped a referenced identifier"
    NOT_DERIVED = "acceptance check: not derived from the input"
    NOT_SUBSEQUENCE = "acceptance check: not a subsequence of the input"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A result that failed a check.

    Attributes:
        refusal: Which.
        detail: What exactly, which may quote the conversation; empty where there is nothing more to say.
    """

    refusal: Refusal
    detail: str = ""

    @property
    def slug(self) -> str:
        """Check and detail in one line, for a receipt and never for a label or a log."""
        if self.refusal is Refusal.NOT_DERIVED:
            return f"{self.refusal} ({self.detail})"
        return f"{self.refusal}: {self.detail}" if self.detail else str(self.refusal)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A result that passed.

    Attributes:
        projected: What is left, with a note at each gap where its lines are the body's.
        is_deletion_only: Whether nothing but notes was added.
        before_tokens: The body's size (tokens).
        after_tokens: Its own size (tokens).
    """

    projected: str
    is_deletion_only: bool
    before_tokens: int
    after_tokens: int


@dataclass(frozen=True, slots=True)
class Terms:
    """What a result must keep to.

    Attributes:
        keep: Words that it must not lose.
        rewrite: Whether it may say lines otherwise than the body; else it must be a subsequence.
        max_chars: The cap of a window (characters); 0 where a window is no reduction of this content.
        min_keep_ratio: Least share of the body's tokens (0 to 1).
        counter: Counts tokens.
    """

    keep: Sequence[str]
    rewrite: bool
    max_chars: int
    min_keep_ratio: float
    counter: Counter

    def tokens(self, text: str) -> int:
        """The size of one text (tokens)."""
        return self.counter.tokens(self.counter.units([text])[0])


def accept(body: str, result: str, terms: Terms) -> Accepted | Rejected:
    """Tries what is left of a body against every check, in order; the first that fails is the answer."""
    noted = with_gaps_noted(body, result) if terms.rewrite and result.strip() else None
    projected = result if noted is None else noted
    if not projected.strip():
        return Rejected(Refusal.EMPTY)
    before, after = terms.tokens(body), terms.tokens(projected)
    if after >= before:
        return Rejected(Refusal.NOT_SMALLER)
    failed = _window(body, result, projected, terms) or _content(body, projected, before, terms)
    if failed is not None:
        return failed
    return Accepted(projected, noted is not None or not terms.rewrite, before, after)


def fits(text: str, accepted: Accepted, terms: Terms) -> bool:
    """Whether what is sent, summary and marker included, is still smaller than the body."""
    return accepted.after_tokens < accepted.before_tokens and terms.tokens(text) < accepted.before_tokens


def _window(body: str, result: str, projected: str, terms: Terms) -> Rejected | None:
    is_capped = 0 < terms.max_chars <= len(projected) and projected in body
    if is_capped and not has_note(projected):
        return Rejected(Refusal.CAPPED)
    if terms.max_chars == 0:
        kept, lines = content_lines(result), content_lines(body)
        if len(kept) > 1 and _is_run(kept, lines):
            return Rejected(Refusal.WINDOW)
    return None


def _is_run(part: Sequence[str], whole: Sequence[str]) -> bool:
    # Lines joined by what none of them holds: a run of them is a part of that text.
    run, text = "\n".join(part), "\n".join(whole)
    return f"\n{run}\n" in f"\n{text}\n"


def _content(body: str, projected: str, before: int, terms: Terms) -> Rejected | None:
    content = without_notes(projected)
    if not content.strip():
        return Rejected(Refusal.EMPTY_RESULT)
    if content.strip() in _DEGENERATE:
        return Rejected(Refusal.DEGENERATE)
    if terms.tokens(content) < terms.min_keep_ratio * before:
        return Rejected(Refusal.KEEP_RATIO)
    dropped = dropped_id(body, projected, terms.keep)
    if dropped is not None:
        return Rejected(Refusal.DROPPED_ID, dropped)
    if not terms.rewrite:
        return None if is_subsequence(body, content) else Rejected(Refusal.NOT_SUBSEQUENCE)
    traced = traced_share(body, content)
    return None if traced >= LEAST_TRACED else Rejected(Refusal.NOT_DERIVED, f"{traced:.0%} traceable")
