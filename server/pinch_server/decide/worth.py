"""What the trims of a call are worth at the prices its caller gave; it never changes the plan."""

from pinch_server.core.plan import Plan
from pinch_server.core.pricing import Economics, Trimmed, economics
from pinch_server.core.rates import read_rates
from pinch_server.core.replay import call_points
from pinch_server.core.resending import resending
from pinch_server.decide.call import CallContext
from pinch_server.decide.reading import ReadCall


def worth(context: CallContext, read: ReadCall, plan: Plan, now_micros: int) -> Economics | None:
    """Prices a plan; None when the caller gave no price of the prompt, or nothing was read.

    Args:
        context: What the caller knows of prices and of the cache.
        read: The call as it was read.
        plan: What was decided.
        now_micros: The time (microseconds since the Unix epoch).
    """
    rates = read_rates(context.prompt_rate, context.cached_rate, context.cache_write_rate)
    if rates is None or read.conversation is None:
        return None
    cache = context.cache
    expected = read.limits.cache_expected_calls if cache.further_calls is None else cache.further_calls
    return economics(rates, cache.state_at(now_micros), expected, _trimmed(read, plan))


def _trimmed(read: ReadCall, plan: Plan) -> Trimmed:
    conversation = read.conversation
    if conversation is None or not plan.edits:
        return Trimmed()
    sent = resending(conversation, plan, plan.stats.fixed_tokens, read.tally.chars if read.tally else None)
    points = call_points(conversation.messages)
    unsent_from = points[-2] if len(points) > 1 else 0
    kept_out = removed_sent = removed_fresh = 0
    for edit in plan.edits:
        removed = edit.tokens_before - edit.tokens_after - edit.removed_before
        kept_out += edit.removed_before
        if not edit.is_new:
            kept_out += removed
        elif edit.message < unsent_from:
            removed_sent += removed
        else:
            removed_fresh += removed
    prefix = sent.unchanged_prefix_tokens
    rewritten = 0 if prefix is None else max(0, sent.sent_before_tokens - prefix)
    return Trimmed(kept_out, removed_sent, removed_fresh, rewritten)
