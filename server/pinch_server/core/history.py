"""A whole session planned in one walk: what each call ships, and what of that the call before shipped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Counter
from pinch_server.core.event import Order, uniform
from pinch_server.core.limits import Limits, Stability
from pinch_server.core.plan import Edit
from pinch_server.core.planning import begun_draft, fixed_tokens, form_at, plan_pruning
from pinch_server.core.replay import Replay, call_points


@dataclass(frozen=True, slots=True)
class CallPlan:
    """What one call of a session ships.

    Attributes:
        end: The number of messages that stand before the call.
        edits: What is changed in them, all events so far together.
        whole_tokens: The size that came, fixed tokens included (tokens).
        final_tokens: The size that ships, fixed tokens included (tokens).
        shared_tokens: How much of that the call before shipped just so (tokens); 0 in the first call.
        extends: Whether it begins with all that the call before shipped; True for the first.
    """

    end: int
    edits: tuple[Edit, ...]
    whole_tokens: int
    final_tokens: int
    shared_tokens: int = 0
    extends: bool = True


def plan_history(
    conversation: Conversation, limits: Limits, counter: Counter, *, order: Order = uniform
) -> Iterator[CallPlan]:
    """Plans every call of a session, oldest first: each as `plan_pruning` would plan its prefix.

    Args:
        conversation: The whole history.
        limits: What may ship; must be within its bounds.
        counter: The estimate that guards the budget.
        order: How to rank candidates at an event.

    Yields:
        One plan for each call point of the history. Under replay they cost one walk together.
    """
    draft = begun_draft(conversation, counter, fixed_tokens(conversation, limits, counter))
    whole = draft.totals()
    before: CallPlan | None = None
    made: Iterator[CallPlan]
    if limits.stability is Stability.REPLAY and conversation.unsupported is None:
        walk = Replay(conversation.messages, draft, limits, form_at(conversation, draft, limits), order)
        made = (CallPlan(end, tuple(draft.edits(end)), whole[end], draft.total) for end in walk.points())
    else:
        made = _each_by_itself(conversation, limits, counter, order, whole)
    for plan in made:
        compared = plan if before is None else _compared(before, plan, whole)
        yield compared
        before = compared


def _each_by_itself(
    conversation: Conversation, limits: Limits, counter: Counter, order: Order, whole: Sequence[int]
) -> Iterator[CallPlan]:
    for end in call_points(conversation.messages):
        prefix = replace(conversation, messages=conversation.messages[:end])
        plan = plan_pruning(prefix, limits, counter, order=order)
        yield CallPlan(end, plan.edits, whole[end], plan.stats.final_tokens)


def _compared(before: CallPlan, now: CallPlan, whole: Sequence[int]) -> CallPlan:
    """A plan with what it shares with the one before."""
    old, new = _texts(before.edits), _texts(now.edits)
    places = old.keys() | new.keys()
    changed = [place[0] for place in places if place[0] < before.end and old.get(place) != new.get(place)]
    if not changed:
        return replace(now, shared_tokens=before.final_tokens)
    first = min(changed)
    saved = sum(edit.tokens_before - edit.tokens_after for edit in now.edits if edit.message < first)
    return replace(now, shared_tokens=max(0, whole[first] - saved), extends=False)


def _texts(edits: Sequence[Edit]) -> dict[tuple[int, int, int], str]:
    return {
        (edit.message, -1 if edit.block is None else edit.block, edit.old.index or 0): edit.new
        for edit in edits
    }
