"""One result through its strategies, until the work of one of them passes every check."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from pinch_server.core.counting import Counter
from pinch_server.core.extraction.acceptance import Refusal, Rejected, Terms, accept, fits
from pinch_server.core.extraction.notes import clipped_summary
from pinch_server.core.extraction.record import Repair
from pinch_server.extract.asking import Asking
from pinch_server.extract.model import Model
from pinch_server.extract.outcome import FilterOptions, Refused, Strategy, Written
from pinch_server.extract.sandbox import Sandbox
from pinch_server.extract.strategies import (
    NO_MODEL,
    Draft,
    Reason,
    Task,
    by_chunks,
    by_code,
    by_projection,
    by_single,
)

_LARGE_TOKENS: Final = 8_000
"""From here on, or from four times the floor, `auto` tries the items of a list first."""
_MODEL_FREE: Final = frozenset({Strategy.DETERMINISTIC})
_DELETING: Final = frozenset({Strategy.DETERMINISTIC, Strategy.RLM})
"""What only ever leaves parts out."""


def write_filter(
    body: str,
    *,
    keep: Sequence[str],
    model: Model | None,
    sandbox: Sandbox,
    options: FilterOptions,
    counter: Counter,
    seal: Callable[[str, str], str],
    label: str = "",
    goal: str = "",
    context: str = "",
    monotonic: Callable[[], float] = time.monotonic,
) -> Written | Refused:
    """Shortens one result, or says why not; never raises for what a model or a program does.

    Args:
        body: The result, whole.
        keep: Words that it must not lose, by `keep_ids`.
        model: Writes filters; None leaves the projection alone.
        sandbox: Runs them.
        options: How it is to be filtered.
        counter: Counts tokens.
        seal: Makes what is sent of what is left and its summary.
        label: Which tool made the result.
        goal: The conversation, told with the task; empty when it is in `context`.
        context: The conversation in a system block of its own, for several results of one request.
        monotonic: A clock that never goes back (seconds).
    """
    terms = Terms(keep, options.rewrite, options.max_chars, options.min_keep_ratio, counter)
    task = Task(body, label, goal, context, keep, options)
    asking = None if model is None else Asking(model, options.seconds, monotonic)
    reasons: list[Reason] = []
    for strategy in _strategies(options, terms.tokens(body)):
        draft = _draft(strategy, task, asking, sandbox)
        result = draft if isinstance(draft, Reason) else _checked(strategy, draft, task, terms, seal)
        calls = asking.calls if asking is not None else ()
        if isinstance(result, Reason):
            reasons.append(result)
            continue
        projected, summary, text, is_deletion, before = result
        return Written(
            text=text,
            projected=projected,
            summary=summary,
            strategy=strategy,
            is_deletion_only=is_deletion,
            before_tokens=before,
            after_tokens=terms.tokens(text),
            calls=calls,
            refusals=tuple(reason.slug for reason in reasons),
            repair=asking.repair if asking is not None else Repair.NONE,
        )
    return Refused(
        tuple(reason.slug for reason in reasons),
        tuple(str(reason.kind) for reason in reasons),
        asking.calls if asking is not None else (),
        asking.repair if asking is not None else Repair.NONE,
    )


def _strategies(options: FilterOptions, tokens: int) -> tuple[Strategy, ...]:
    chosen = options.strategy
    if chosen is Strategy.AUTO:
        is_large = tokens >= max(4 * options.floor_tokens, _LARGE_TOKENS)
        first = (Strategy.RLM,) if is_large else ()
        order: tuple[Strategy, ...] = (*first, Strategy.CODE, Strategy.SINGLE)
    else:
        order = (chosen,)
    if options.allow_deterministic and chosen is not Strategy.DETERMINISTIC:
        order += (Strategy.DETERMINISTIC,)
    return order


def _draft(strategy: Strategy, task: Task, asking: Asking | None, sandbox: Sandbox) -> Draft | Reason:
    if strategy in _MODEL_FREE:
        return by_projection(task)
    if asking is None:
        return Reason(NO_MODEL)
    if strategy is Strategy.RLM:
        return by_chunks(task, asking)
    if strategy is Strategy.SINGLE:
        return by_single(task, asking)
    return by_code(task, asking, sandbox)


def _checked(
    strategy: Strategy, draft: Draft, task: Task, terms: Terms, seal: Callable[[str, str], str]
) -> tuple[str, str, str, bool, int] | Reason:
    accepted = accept(task.body, draft.output, terms)
    if isinstance(accepted, Rejected):
        return Reason(accepted.refusal, accepted.slug)
    summary = clipped_summary(draft.summary)
    text = seal(accepted.projected, summary)
    if not fits(text, accepted, terms):
        return Reason(Refusal.NOT_SMALLER)
    is_deletion = accepted.is_deletion_only or strategy in _DELETING
    return accepted.projected, summary, text, is_deletion, accepted.before_tokens
