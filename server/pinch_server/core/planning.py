"""The plan: which results are trimmed, in which order, until the conversation fits its budget."""

from dataclasses import replace
from functools import partial

from pinch_server.core.checkpoint import Checkpoints
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Counter
from pinch_server.core.draft import Draft
from pinch_server.core.event import Event, Order, candidates_at, uniform
from pinch_server.core.forms import Form, FormAt, KeyedForm, PlainForm
from pinch_server.core.give_way import GiveWay, on
from pinch_server.core.hints import Hints
from pinch_server.core.limits import Limits, Stability, TrimStyle
from pinch_server.core.plan import Action, Plan, Ranking, Stats
from pinch_server.core.replay import Replay
from pinch_server.core.retried import Attempts, Retried
from pinch_server.core.tally import Tally
from pinch_server.core.window import window_at


def plan_pruning(
    conversation: Conversation,
    limits: Limits,
    counter: Counter,
    *,
    order: Order = uniform,
    checkpoints: Checkpoints | None = None,
    tally: Tally | None = None,
    give_way: GiveWay = on,
) -> Plan:
    """Decides what to trim.

    Args:
        conversation: The whole history.
        limits: What may ship; must be within its bounds.
        counter: The estimate that guards the budget.
        order: How to rank candidates; the default trims every candidate outside the window. Whatever it
            depends on beside the messages before an event must not change while `checkpoints` lives.
        checkpoints: Where earlier calls of the same session left off; it saves time and changes nothing.
        tally: The conversation's tally, when there is one. With `checkpoints` it keeps the plan: a call
            that comes again, as after an error of a provider, is not worked out again.
        give_way: Called between two pieces of the work.

    Returns:
        The plan. Nothing changes when the conversation is within its budget and always was.
    """
    if checkpoints is None or tally is None:
        return _plan(conversation, limits, counter, order, checkpoints, tally, give_way)
    rules = (limits, counter.method, conversation.tools, conversation.preamble, conversation.unsupported)
    if tally.planned is not None and tally.planned[0] == rules:
        return tally.planned[1]
    plan = _plan(conversation, limits, counter, order, checkpoints, tally, give_way)
    tally.planned = rules, plan
    return plan


def _plan(
    conversation: Conversation,
    limits: Limits,
    counter: Counter,
    order: Order,
    checkpoints: Checkpoints | None,
    tally: Tally | None,
    give_way: GiveWay,
) -> Plan:
    messages = conversation.messages
    fixed = fixed_tokens(conversation, limits, counter)
    draft = begun_draft(conversation, counter, fixed, tally)
    unchanged = partial(unchanged_plan, limits=limits, fixed=fixed)
    beside = draft.total
    original = draft.whole_total()
    if conversation.unsupported is not None:
        return unchanged(original, reason=conversation.unsupported)
    if original <= limits.budget_tokens and not limits.acts_below_budget:
        return unchanged(original, reason="within_budget")
    if limits.stability is Stability.REPLAY:
        replay = Replay(messages, draft, limits, form_at(conversation, draft, limits, give_way), order)
        end = replay.run(checkpoints, f"{limits!r} {counter.method} {beside}")
        event, is_gain_small = replay.event, replay.is_gain_small
        edits = replay.edits
    else:
        end = len(messages)
        draft.own()
        draft.include(end)
        event = _single_event(conversation, draft, limits, order, original, give_way)
        is_gain_small = event is None
        edits = tuple(draft.edits(end))
    candidates = event.looked_at if event is not None else 0
    if not edits:
        reason = "within_budget" if original <= limits.budget_tokens else "nothing_to_trim"
        reason = "gain_too_small" if is_gain_small else reason
        return unchanged(original, reason=reason, candidates=candidates)
    stats = _stats(draft, original, limits, candidates, event, end)
    return Plan(edits, replace(stats, fixed_tokens=fixed))


def _single_event(
    conversation: Conversation,
    draft: Draft,
    limits: Limits,
    order: Order,
    original: int,
    give_way: GiveWay,
) -> Event | None:
    """The one event of a call that is decided anew; None when there is too little to gain."""
    end = len(conversation.messages)
    window = window_at(conversation.messages, end, limits)
    form = form_at(conversation, draft, limits, give_way)(end)
    if limits.min_tokens_saved > 0:
        attempt = draft.copy()
        Event(attempt, limits, form, uniform, end, target=-1).hold(
            candidates_at(attempt, window, limits, end)
        )
        if original - attempt.total < limits.min_tokens_saved:
            return None
    event = Event(draft, limits, form, order, end, limits.budget_tokens)
    event.hold(candidates_at(draft, window, limits, end))
    return event


def form_at(conversation: Conversation, draft: Draft, limits: Limits, give_way: GiveWay = on) -> FormAt:
    """How results are trimmed at each event of a conversation.

    Args:
        conversation: The whole history.
        draft: The texts of its results.
        limits: What may ship.
        give_way: Called between two pieces of the work.
    """
    if limits.trim_style is TrimStyle.PLAIN:
        plain = PlainForm()
        return lambda _end: plain
    hints = Hints(conversation.messages, draft, give_way)
    attempts = Attempts()

    def keyed(end: int) -> Form:
        hints.read(end)
        form = KeyedForm(hints.weigh, hints.echo, limits.placeholder_chars)
        # Only an event that may be taken back is tried twice.
        return Retried(form, attempts) if limits.is_reckoned else form

    return keyed


def unchanged_plan(total: int, limits: Limits, reason: str, *, candidates: int = 0, fixed: int = 0) -> Plan:
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
        fixed_tokens=fixed,
    )
    return Plan((), stats, reason)


def _stats(
    draft: Draft, original: int, limits: Limits, candidates: int, event: Event | None, end: int
) -> Stats:
    """The numbers; trims are counted where they are made, those of earlier calls were counted then."""
    actions = [r.action_at(end) for r in draft.results if r.is_changed_at(end)]
    ranked = event.ranked if event is not None else None
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
        ranking=ranked.ranking if ranked is not None else Ranking.NOT_NEEDED,
        ranking_reason=ranked.reason if ranked is not None else "",
    )


def measure(conversation: Conversation, limits: Limits, counter: Counter, tally: Tally | None = None) -> int:
    """The size of a conversation as it came, fixed tokens included, without a plan for it (tokens)."""
    fixed = fixed_tokens(conversation, limits, counter)
    return begun_draft(conversation, counter, fixed, tally).whole_total()


def fixed_tokens(conversation: Conversation, limits: Limits, counter: Counter) -> int:
    """What ships beside the messages: what the caller says, else the body's own tool definitions (tokens)."""
    if limits.extra_fixed_tokens is not None:
        return limits.extra_fixed_tokens
    return sum(map(counter.tokens, counter.units(conversation.tools)))


def begun_draft(
    conversation: Conversation, counter: Counter, fixed: int, tally: Tally | None = None
) -> Draft:
    """The conversation with nothing trimmed, over all that ships beside its messages.

    Given a tally, `Draft.own` has to be called before anything is trimmed.
    """
    preamble = counter.tokens(sum(counter.units(conversation.preamble)))
    if tally is not None:
        return Draft.on(tally, fixed + preamble)
    return Draft.of(conversation.messages, counter, fixed + preamble)
