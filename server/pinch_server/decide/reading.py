"""Reading a call: its limits and its conversation, or everything that is wrong with it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Counter
from pinch_server.core.limits import Limits, Violation, limit_violations
from pinch_server.core.money import is_amount
from pinch_server.core.tally import Tally
from pinch_server.decide.call import CallContext, InvalidCallError, PruneCall
from pinch_server.formats.body import Reading, read_body
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.recent import History, RecentHistories


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call that keeps its contract.

    Attributes:
        limits: The limits it is planned under.
        conversation: What was said; None when the body is valid and yet cannot be understood.
        reading: The body as it was read; None for typed messages.
        tally: The conversation's tally; None without a conversation.
        history: What the next call may go on from; None where nothing is kept.
    """

    limits: Limits
    conversation: Conversation | None
    reading: Reading | None
    tally: Tally | None = None
    history: History | None = None


def read_call(
    call: PruneCall,
    defaults: Limits,
    counter: Counter | None = None,
    recent: RecentHistories | None = None,
) -> ReadCall:
    """Reads one call.

    Args:
        call: The call as it came.
        defaults: The limits that it does not set.
        counter: The estimate in force; None where nothing is planned.
        recent: The conversations that were read last; None to read every one anew.

    Raises:
        InvalidCallError: The call breaks its contract; every violation at once.
    """
    limits, violations = limits_of(call.limits, defaults)
    violations = call.violations + violations + _rate_violations(call.context)
    reading: Reading | None = None
    conversation: Conversation | None = None
    history = call.history
    if isinstance(call.conversation, Conversation):
        conversation = call.conversation
    else:
        try:
            reading = read_body(call.conversation.json, call.conversation.format, recent)
            conversation, history = reading.conversation, reading.history
        except BodyError as error:
            violations += (Violation(error.field, error.problem),)
        except NotUnderstoodError:
            pass
    if violations:
        raise InvalidCallError(violations)
    tally = history.tally if history is not None else None
    if tally is None and conversation is not None and counter is not None:
        tally = Tally.of(conversation.messages, counter)
    return ReadCall(limits, conversation, reading, tally, history)


def limits_of(given: Mapping[str, Any], defaults: Limits) -> tuple[Limits, tuple[Violation, ...]]:
    """The limits of a call, and those of them that lie outside their bounds, named as fields of the call.

    Args:
        given: The limits that the call sets, by name.
        defaults: Those that it does not set.
    """
    # With their types: 0 and 0.0 are told differently, though they are the same key.
    kinds = tuple(map(type, given.values()))
    return _limits_of(defaults, tuple(given.items()), kinds)


@lru_cache(maxsize=1_024)
def _limits_of(
    defaults: Limits, given: tuple[tuple[str, Any], ...], _kinds: tuple[type, ...]
) -> tuple[Limits, tuple[Violation, ...]]:
    limits = replace(defaults, **dict(given))
    named = (Violation(f"limits.{one.field}", one.problem) for one in limit_violations(limits))
    return limits, tuple(named)


def _rate_violations(context: CallContext) -> tuple[Violation, ...]:
    if not (context.prompt_rate or context.cached_rate or context.cache_write_rate):
        return ()
    fields = {
        "prompt": context.prompt_rate,
        "cached_prompt": context.cached_rate,
        "cache_write": context.cache_write_rate,
    }
    return tuple(
        Violation(
            f"context.rates.{name}",
            f"{text!r} is not a price; give USD per million tokens as a decimal such as 0.30",
        )
        for name, text in fields.items()
        if text and not is_amount(text)
    )
