"""Results that an event is sure to make placeholders of, made so at once.

An event elides all it may, and then, while it is above its target, replaces one excerpt after the other by a
placeholder. An excerpt that is replaced in the same event is made for nothing, and making excerpts is most of
what an event costs. So the first so many results, by a guess at the others' excerpts, are taken both steps at
once. When the conversation is above the target even then, the event would have come to each of them; else the
last of them are given back until it is. It saves time and decides nothing.
"""

from collections.abc import Sequence

from pinch_server.core.draft import Change, Draft, DraftResult
from pinch_server.core.forms import KeyedForm
from pinch_server.core.limits import PLAIN_KEPT_CHARS, Limits
from pinch_server.core.plan import Reason
from pinch_server.core.trimming import Step


def omit_at_once(
    draft: Draft,
    form: KeyedForm,
    ordered: Sequence[DraftResult],
    limits: Limits,
    reason: Reason,
    end: int,
    target: int,
) -> None:
    """Takes the first results both steps, and all others the first one, where an event is sure to.

    Args:
        draft: What is trimmed; nobody else may watch it.
        form: How a result is trimmed.
        ordered: The results of one stage of the event, in the order in which they are trimmed.
        limits: What may ship.
        reason: Why they are open to trimming.
        end: The number of messages that stand before the event.
        target: Where trimming stops (tokens).
    """
    longest = limits.max_summarize_chars
    to_come = [_first_step(draft, result, limits) for result in ordered]
    left = sum(to_come)
    if draft.total - left <= target:
        return
    draft.watch()
    taken: list[Change | None] = []
    for result, gain in zip(ordered, to_come, strict=True):
        if draft.total - left <= target:
            break
        left -= gain
        is_omitted = draft.take_both_steps(result, form, limits, reason, end)
        if not is_omitted:
            draft.take_first_step(result, form, longest, reason, end)
            is_omitted = draft.take_second_step(result, form, reason, end)
        taken.append(draft.newest_change if is_omitted else None)
    for result in ordered[len(taken) :]:
        draft.take_first_step(result, form, longest, reason, end)
    while taken and draft.total <= target:
        change = taken.pop()
        if change is not None:
            draft.revert(change)
            draft.take_first_step(change.result, form, longest, reason, end)
    if draft.total > target:
        draft.changes = None
    else:
        # The first steps alone reach the target, and perhaps not all of them.
        draft.take_back()


def _first_step(draft: Draft, result: DraftResult, limits: Limits) -> int:
    """About what the first step of a result removes, by its length alone (tokens)."""
    if result.step is not Step.WHOLE or not result.chars:
        return 0
    if result.chars > limits.max_summarize_chars:
        kept = PLAIN_KEPT_CHARS
    elif result.value.is_error:
        return 0
    else:
        kept = min(limits.placeholder_chars, result.chars // 2)
    return draft.counter.tokens(max(0, result.units - result.whole_units * kept // result.chars))
