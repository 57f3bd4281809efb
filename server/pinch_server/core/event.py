"""One event: what is open to trimming at a point of a conversation, and trimming it to the target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from pinch_server.core.draft import Draft, DraftResult
from pinch_server.core.forms import Form
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Ranking, Reason
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


def is_protected(tool: str, limits: Limits) -> bool:
    """Whether results of this tool are never trimmed."""
    return any(fnmatchcase(tool, glob) for glob in limits.protected_tools)


def candidates_at(draft: Draft, window: Window, limits: Limits, end: int) -> Candidates:
    """What is open to trimming among the results before `end`."""
    found = Candidates()
    cap = limits.protected_max_chars
    for result in draft.results:
        if result.message >= end:
            break
        if is_protected(result.tool, limits):
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
    """

    draft: Draft
    limits: Limits
    form: Form
    order: Order
    end: int
    target: int
    looked_at: int = 0
    ranked: Ranked | None = None

    def hold(self, candidates: Candidates) -> None:
        """Trims, stage by stage: outsized results, those outside the window, those a contraction releases."""
        for result, reason in candidates.outsized:
            self.draft.cap(result, self.form, reason, self.end)
        self._trim(candidates.outside, Reason.OUTSIDE_WINDOW)
        if self._is_above():
            self._trim(candidates.released, Reason.CONTRACTION)

    def _is_above(self) -> bool:
        return self.draft.total > self.target

    def _trim(self, results: list[DraftResult], reason: Reason) -> None:
        if not results:
            return
        self.looked_at += len(results)
        ordered, takes_all = self._in_order(results)
        for result in ordered:
            if not (self._is_above() or (takes_all and reason is Reason.OUTSIDE_WINDOW)):
                break
            self.draft.take_first_step(result, self.form, self.limits.max_summarize_chars, reason, self.end)
        if self.form.has_second_step:
            # Only the budget is worth what an excerpt still says; the low-water mark is not.
            for result in ordered:
                if self.draft.total <= self.limits.budget_tokens:
                    break
                self.draft.take_second_step(result, self.form, reason, self.end)
        if self.limits.omit_images:
            for result in ordered:
                if not self._is_above():
                    break
                self.draft.omit_images(result, reason, self.end)

    def _in_order(self, results: list[DraftResult]) -> tuple[list[DraftResult], bool]:
        """The candidates as they will be trimmed, errors last; and whether all of them are, budget or not."""
        ranked = self.order(results, self.end)
        self.ranked = self.ranked or ranked
        if ranked.indices is None:
            return sorted(results, key=lambda result: result.value.is_error), True
        seen: set[int] = set()
        ordered: list[DraftResult] = []
        for index in ranked.indices:
            if 0 <= index < len(results) and index not in seen:
                seen.add(index)
                ordered.append(results[index])
        return sorted(ordered, key=lambda result: result.value.is_error), False
