"""One event: what is open to trimming at a point of a conversation, and trimming it to the target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pinch_server.core.at_once import omit_at_once
from pinch_server.core.draft import Draft, DraftResult
from pinch_server.core.forms import Form, KeyedForm
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Ranking, Reason
from pinch_server.core.protection import protection
from pinch_server.core.window import Window


@dataclass(frozen=True, slots=True)
class Ranked:
    """An order of candidates.

    Attributes:
        indices: Their indices, least relevant first. Invalid and repeated ones are ignored; candidates that
            are not named are left alone. None for no order: each candidate takes its first step.
        ranking: What kind of order this is.
        reason: Why it is not a better one; empty when nothing stood in the way.
    """

    indices: Sequence[int] | None
    ranking: Ranking
    reason: str = ""


UNIFORM = Ranked(None, Ranking.UNIFORM)
"""No order: every candidate outside the window takes its first step."""

Order = Callable[[Sequence[DraftResult], int], Ranked]
"""Ranks candidates at an event; the second argument is the number of messages that stand before it."""


def uniform(_candidates: Sequence[DraftResult], _end: int) -> Ranked:
    """The order of the original: none."""
    return UNIFORM


def oldest_first(candidates: Sequence[DraftResult], _end: int) -> Ranked:
    """Oldest first: the results a model is least likely to need again."""
    return Ranked(range(len(candidates)), Ranking.UNIFORM, "oldest_first")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The results open to trimming at one point, by the stage that may take them.

    Attributes:
        outsized: Protected or fresh results above the cap.
        outside: Results before the window.
        released: Results inside the window that it gives up when it contracts.
    """

    outsized: list[tuple[DraftResult, Reason]] = field(default_factory=list)
    outside: list[DraftResult] = field(default_factory=list)
    released: list[DraftResult] = field(default_factory=list)


def candidates_at(draft: Draft, window: Window, limits: Limits, end: int) -> Candidates:
    """What is open to trimming among the results before `end`."""
    found = Candidates()
    is_protected = protection(limits.protected_tools)
    cap = limits.protected_max_chars
    for result in draft.results:
        if result.message >= end:
            break
        if is_protected(result.tool):
            continue
        if result.message >= window.fresh_start:
            if cap and result.chars > cap:
                found.outsized.append((result, Reason.FRESH_OUTSIZED))
        elif result.message >= window.start:
            if cap and result.chars > cap:
                found.outsized.append((result, Reason.OUTSIZED))
            if result.message < window.contracted_start:
                found.released.append(result)
        else:
            found.outside.append(result)
    return found


@dataclass(slots=True)
class Event:
    """One event under way.

    Attributes:
        draft: What is trimmed.
        limits: What may ship.
        form: How a result is trimmed.
        order: How candidates are ranked.
        end: The number of messages that stand before the event.
        target: Where trimming stops (tokens).
        is_in_vain: Asked after each trimmed result, with whether trimming ends at the target: whether to give
            up, since all will be taken back.
    """

    draft: Draft
    limits: Limits
    form: Form
    order: Order
    end: int
    target: int
    is_in_vain: Callable[[DraftResult, bool], bool] | None = None
    is_given_up: bool = False
    looked_at: int = 0
    ranked: Ranked | None = None
    takes_all: bool = False

    def hold(self, candidates: Candidates) -> None:
        """Trims, stage by stage: outsized results, those outside the window, those a contraction releases."""
        for result, reason in candidates.outsized:
            self.draft.cap(result, self.form, reason, self.end)
        outside, released = candidates.outside, candidates.released
        if not outside and not released:
            return
        ranks = self._ranks([*outside, *released])
        self.looked_at += len(outside)
        self._trim(_in_order(outside, ranks), Reason.OUTSIDE_WINDOW, takes_all=self.takes_all)
        if self._is_above() and not self.is_given_up:
            self.looked_at += len(released)
            ranks = {index - len(outside): rank for index, rank in ranks.items()}
            self._trim(_in_order(released, ranks), Reason.CONTRACTION, takes_all=False)

    def _is_above(self) -> bool:
        return self.draft.total > self.target

    def _trim(self, ordered: list[DraftResult], reason: Reason, *, takes_all: bool) -> None:
        draft, form, end = self.draft, self.form, self.end
        longest = self.limits.max_summarize_chars
        if isinstance(form, KeyedForm) and draft.changes is None and not takes_all:
            omit_at_once(draft, form, ordered, self.limits, reason, end, self.target)
        self._each(
            ordered, lambda one: draft.take_first_step(one, form, longest, reason, end), takes_all=takes_all
        )
        if form.has_second_step:
            self._each(ordered, lambda one: draft.take_second_step(one, form, reason, end))
        if self.limits.omit_images:
            self._each(ordered, lambda one: draft.omit_images(one, reason, end))

    def _each(
        self, ordered: list[DraftResult], trim: Callable[[DraftResult], bool], *, takes_all: bool = False
    ) -> None:
        """Trims one result after the other, down to the target."""
        for result in ordered:
            if self.is_given_up or not (self._is_above() or takes_all):
                return
            if trim(result) and self.is_in_vain is not None:
                self.is_given_up = self.is_in_vain(result, not self.takes_all)

    def _ranks(self, results: list[DraftResult]) -> dict[int, int]:
        """The rank of each candidate by its index; without an order those outside are all taken.

        Both stages are ranked at once: a ranking may cost a round trip, and there is time for one.
        """
        self.ranked = self.order(results, self.end)
        if self.ranked.indices is None:
            self.takes_all = True
            return {index: index for index in range(len(results))}
        ranks: dict[int, int] = {}
        for index in self.ranked.indices:
            ranks.setdefault(index, len(ranks))
        return ranks


def _in_order(results: list[DraftResult], ranks: dict[int, int]) -> list[DraftResult]:
    """The results that have a rank, as they will be trimmed: errors last."""
    named = sorted((index for index in range(len(results)) if index in ranks), key=ranks.__getitem__)
    return sorted((results[index] for index in named), key=lambda result: result.value.is_error)
