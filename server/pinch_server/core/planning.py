"""The plan: which results are trimmed, in which order, until the conversation fits its budget.

Stages, in order (design: "Stages, when over budget"): cap what is outsized inside the window; trim what
stands outside it; leave out old images; then let the window contract and trim what it releases.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Counter
from pinch_server.core.draft import Draft, DraftResult
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Action, Plan, Ranking, Reason, Stats
from pinch_server.core.window import window_at


@dataclass(frozen=True, slots=True)
class Order:
    """A ranking of candidates.

    Attributes:
        rank: Given the candidates in order of appearance, their indices, least relevant first. Invalid and
            repeated indices are ignored; candidates it leaves out are left alone.
        ranking: What kind of ranking this is.
        reason: Why it is not a better one; empty when nothing stood in the way.
    """

    rank: Callable[[Sequence[DraftResult]], Sequence[int]]
    ranking: Ranking
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The results open to trimming at one point, by the stage that may take them."""

    outsized: list[tuple[DraftResult, Reason]]
    outside: list[DraftResult]
    released: list[DraftResult]


def plan_pruning(
    conversation: Conversation, limits: Limits, counter: Counter, *, order: Order | None = None
) -> Plan:
    """Decides what to trim, anew for this call.

    Args:
        conversation: The whole history.
        limits: What may ship; must be within its bounds.
        counter: The estimate that guards the budget.
        order: How to rank candidates; None trims every candidate outside the window (uniform).

    Returns:
        The plan. Nothing changes when the conversation is within its budget.
    """
    messages = conversation.messages
    fixed = conversation.tools_tokens if limits.extra_fixed_tokens is None else limits.extra_fixed_tokens
    preamble = counter.tokens(sum(counter.units(conversation.preamble)))
    draft = Draft.of(messages, counter, fixed + preamble)
    original = draft.total
    if conversation.unsupported is not None:
        return unchanged_plan(original, limits, conversation.unsupported)
    if original <= limits.budget_tokens:
        return unchanged_plan(original, limits, "within_budget")
    end = len(messages)
    candidates = _candidates_at(conversation, draft, limits, end)
    if limits.min_tokens_saved > 0:
        attempt = draft.copy()
        _hold_event(attempt, _candidates_at(conversation, attempt, limits, end), limits, None, end, target=-1)
        if original - attempt.total < limits.min_tokens_saved:
            return unchanged_plan(original, limits, "gain_too_small")
    taken = _hold_event(draft, candidates, limits, order, end, target=limits.budget_tokens)
    edits = draft.edits(end)
    if not edits:
        return unchanged_plan(original, limits, "nothing_to_trim", candidates=taken)
    ranking = Ranking.UNIFORM if order is None else order.ranking
    return Plan(tuple(edits), _stats(draft, original, limits, taken, ranking, order.reason if order else ""))


def _candidates_at(conversation: Conversation, draft: Draft, limits: Limits, end: int) -> _Candidates:
    window = window_at(conversation.messages, end, limits)
    candidates = _Candidates([], [], [])
    cap = limits.protected_max_chars
    for result in draft.results:
        if result.message >= end or _is_protected(result.tool, limits.protected_tools):
            continue
        if result.message >= window.fresh_start:
            if cap and result.chars > cap:
                candidates.outsized.append((result, Reason.FRESH_OUTSIZED))
        elif result.message >= window.start:
            if cap and result.chars > cap:
                candidates.outsized.append((result, Reason.OUTSIZED))
            if result.message < window.contracted_start:
                candidates.released.append(result)
        else:
            candidates.outside.append(result)
    return candidates


def _is_protected(tool: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(tool, glob) for glob in globs)


def _hold_event(
    draft: Draft, candidates: _Candidates, limits: Limits, order: Order | None, end: int, *, target: int
) -> int:
    """Trims until the draft is at or under `target` tokens; gives the number of candidates it looked at."""
    for result, reason in candidates.outsized:
        draft.cap(result, reason, end)
    looked_at = len(candidates.outside)
    ordered = _in_order(candidates.outside, order)
    for result in ordered:
        if order is not None and draft.total <= target:
            break
        draft.trim(result, limits.max_summarize_chars, Reason.OUTSIDE_WINDOW, end)
    if limits.omit_images:
        _omit_images(draft, ordered, Reason.OUTSIDE_WINDOW, end, target)
    if draft.total > target and candidates.released:
        looked_at += len(candidates.released)
        released = _in_order(candidates.released, order)
        for result in released:
            if draft.total <= target:
                break
            draft.trim(result, limits.max_summarize_chars, Reason.CONTRACTION, end)
        if limits.omit_images:
            _omit_images(draft, released, Reason.CONTRACTION, end, target)
    return looked_at


def _omit_images(draft: Draft, results: Sequence[DraftResult], reason: Reason, end: int, target: int) -> None:
    for result in results:
        if draft.total <= target:
            return
        draft.omit_images(result, reason, end)


def _in_order(results: list[DraftResult], order: Order | None) -> list[DraftResult]:
    """The candidates as they will be trimmed, as ranked or as they stand, with errors last."""
    if order is None:
        return sorted(results, key=lambda result: result.value.is_error)
    seen: set[int] = set()
    ranked: list[DraftResult] = []
    for index in order.rank(results):
        if 0 <= index < len(results) and index not in seen:
            seen.add(index)
            ranked.append(results[index])
    return sorted(ranked, key=lambda result: result.value.is_error)


def unchanged_plan(total: int, limits: Limits, reason: str, *, candidates: int = 0) -> Plan:
    """The plan that leaves a conversation of `total` tokens as it came, for a reason given as a slug."""
    stats = Stats(
        pruned=False,
        original_tokens=total,
        final_tokens=total,
        tokens_saved=0,
        summarized=0,
        elided=0,
        omitted=0,
        capped=0,
        candidates=candidates,
        budget_met=total <= limits.budget_tokens,
        ranking=Ranking.NOT_NEEDED,
    )
    return Plan((), stats, reason)


def _stats(
    draft: Draft, original: int, limits: Limits, candidates: int, ranking: Ranking, ranking_reason: str
) -> Stats:
    actions = [result.action for result in draft.results if result.action is not None]
    return Stats(
        pruned=True,
        original_tokens=original,
        final_tokens=draft.total,
        tokens_saved=original - draft.total,
        summarized=len(actions),
        elided=actions.count(Action.ELIDED),
        omitted=actions.count(Action.OMITTED),
        capped=actions.count(Action.CAPPED),
        candidates=candidates,
        budget_met=draft.total <= limits.budget_tokens,
        ranking=ranking,
        ranking_reason=ranking_reason,
    )


def measure(conversation: Conversation, limits: Limits, counter: Counter) -> int:
    """The size of a conversation as it came, fixed tokens included, without a plan for it (tokens)."""
    fixed = conversation.tools_tokens if limits.extra_fixed_tokens is None else limits.extra_fixed_tokens
    preamble = counter.tokens(sum(counter.units(conversation.preamble)))
    return Draft.of(conversation.messages, counter, fixed + preamble).total
