"""Every result that replayed sessions elide: filtered once, and what that is worth in each regime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from bench.corpus import Conversation
from pinch_server.core.conversation import TextPart
from pinch_server.core.counting import Counter
from pinch_server.core.event import oldest_first
from pinch_server.core.extraction.candidate_gate import Candidate, can_fit
from pinch_server.core.extraction.classes import classify
from pinch_server.core.extraction.considered import Job
from pinch_server.core.extraction.economics import (
    GOAL_TOKENS,
    HAIKU,
    Allowance,
    PromptPrices,
    Terms,
    call_cost,
    expected_reuses,
    weigh,
)
from pinch_server.core.extraction.learning import Learned, share_in_seat
from pinch_server.core.extraction.seats import fits
from pinch_server.core.history import plan_history
from pinch_server.core.identifiers import identifiers
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Action
from pinch_server.core.pricing import CacheState
from pinch_server.core.turn_frame import readable_text
from pinch_server.extract.filtering import refusal_of
from pinch_server.extract.outcome import FilterOptions, Written
from pinch_server.extract.prompts.conversation import told_text
from pinch_server.extract.writing import FilterWriter
from pinch_server.formats.body import read_body

SECONDS = 30.0
_CLOSING_CHARS = 250
_CALL_MS = 900.0
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Elided:
    """A result that a session elides.

    Attributes:
        session: The session's name.
        text: The result.
        elided: What is left of it.
        tokens: Its size (tokens).
        elided_tokens: The size of what is left (tokens).
        messages: Messages of the call that elides it.
        later: Calls after that which send it so.
        job: What a filter is asked for.
        needed: Identifiers of it that the session names afterwards.
    """

    session: str
    text: str
    elided: str
    tokens: int
    elided_tokens: int
    messages: int
    later: int
    job: Job
    needed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Filtered:
    """One such result, filtered.

    Attributes:
        elided: The result.
        content_class: What kind of text it is.
        outcome: `accepted`, or why it was refused.
        projected_tokens: What a filter left of it; its own size where it was refused (tokens).
        sent_tokens: What is sent of it: the extraction where it fits, else the elision (tokens).
        is_sent: Whether the extraction is sent.
        cost_usd: What the calls to the model cost (USD).
        goal_tokens: Size of what the model was told of the conversation (tokens).
        kept: The share of the needed identifiers that what is sent still holds; None where none is needed.
        elision_kept: The same of the elision.
    """

    elided: Elided
    content_class: str
    outcome: str
    projected_tokens: int
    sent_tokens: int
    is_sent: bool
    cost_usd: float
    goal_tokens: int
    kept: float | None
    elision_kept: float | None


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to decide, in one regime.

    Attributes:
        regime: What the provider's cache holds.
        name: `ungated`, with the economic gate off and all others on, `gate`, `told`: the gate of a caller
            that knows how many calls follow, or `excerpt`: the gate against what is sent otherwise.
        calls: Results that the model was asked about.
        sent: Those of them that are sent extracted.
        cost_usd: What the calls cost (USD).
        beyond_elision_usd: What they save beyond the elisions that would be sent anyway (USD).
        beyond_whole_usd: What they save beyond results sent whole, which Pinch would not send (USD).
    """

    regime: str
    name: str
    calls: int
    sent: int
    cost_usd: float
    beyond_elision_usd: float
    beyond_whole_usd: float


def elided_results(conversation: Conversation, budget_share: float, counter: Counter) -> Iterator[Elided]:
    """The results that a session elides, each once, with how long they stay so.

    Args:
        conversation: The session.
        budget_share: Its budget as a share of its size.
        counter: The estimate that guards the budget.
    """
    read = read_body(conversation.body, conversation.format).conversation
    messages = read.messages
    whole = counter.tokens(sum(counter.units([text for m in messages for text in m.fixed])))
    whole += sum(
        counter.tokens(counter.units([part.text])[0])
        for message in messages
        for result in message.results
        for part in result.parts
        if isinstance(part, TextPart)
    )
    limits = replace(Limits(), budget_tokens=max(1_000, round(budget_share * whole)))
    found: dict[tuple[int, int], Elided] = {}
    for call in plan_history(read, limits, counter, order=oldest_first):
        for edit in call.edits:
            if edit.action is Action.OMITTED or not isinstance(edit.old, TextPart):
                continue
            place = edit.message, id(edit.old)
            if place in found:
                found[place] = replace(found[place], later=found[place].later + 1)
                continue
            said = "\n".join(readable_text(message) for message in messages[call.end :])
            calls = "\n".join(text for message in messages[call.end :] for text in message.fixed)
            needed = frozenset(identifiers(edit.old.text)) & frozenset(identifiers(f"{said}\n{calls}"))
            job = Job(
                edit.old.text,
                edit.tokens_before,
                edit.tool,
                messages[: call.end],
                "",
                b"",
                b"",
                len(edit.new) - _CLOSING_CHARS,
            )
            found[place] = Elided(
                conversation.name,
                edit.old.text,
                edit.new,
                edit.tokens_before,
                edit.tokens_after,
                call.end,
                0,
                job,
                needed,
            )
    yield from found.values()


def filtered(results: Iterable[Elided], writer: FilterWriter, counter: Counter) -> Iterator[Filtered]:
    """Has a filter written for each result, and holds it to what would be sent without."""
    for one in results:
        outcome = writer.write(one.job, SECONDS)
        cost = sum(call.cost_usd for call in outcome.calls)
        kept = _kept(one.needed, one.elided)
        plain = Filtered(
            one,
            classify(one.text).name,
            "accepted",
            one.tokens,
            one.elided_tokens,
            False,
            cost,
            counter.tokens(counter.units([told_text(one.job.messages, writer.mode, writer.newest)])[0]),
            kept,
            kept,
        )
        if not isinstance(outcome, Written):
            yield replace(plain, outcome=refusal_of(outcome))
            continue
        text = outcome.text
        after = counter.tokens(counter.units([text])[0])
        if not fits(text, one.elided, counter):
            yield replace(plain, projected_tokens=after)
            continue
        yield replace(
            plain,
            projected_tokens=after,
            sent_tokens=after,
            is_sent=True,
            kept=_kept(one.needed, text),
        )


def _kept(needed: frozenset[str], text: str) -> float | None:
    return sum(name in text for name in needed) / len(needed) if needed else None


def arms(results: Sequence[Filtered]) -> Iterator[Arm]:
    """Each regime decided by nobody, by the gate, as a caller tells it what follows, and against excerpts.

    Args:
        results: Session by session, each in its order.
    """
    sessions = [list(rows) for _, rows in groupby(results, lambda one: one.elided.session)]
    for state in CacheState:
        for name in ("ungated", "gate", "told", "excerpt"):
            yield _arm(sessions, state, name)


def _arm(sessions: Sequence[Sequence[Filtered]], state: CacheState, name: str) -> Arm:
    arm, learned = Arm(state.value, name, 0, 0, 0.0, 0.0, 0.0), Learned()
    seen: set[str] = set()
    for results in sessions:
        explored = 0
        for one in results:
            result = one.elided
            candidate = Candidate(result.text, result.tokens, elided_tokens=result.elided_tokens)
            if not can_fit(candidate, FilterOptions().min_keep_ratio):
                continue
            terms = _terms(one, state, learned, name, was_seen=result.text in seen)
            seen.add(result.text)
            if name != "ungated":
                if not weigh(terms, Allowance(True, False, learned.may_explore(explored))).is_allowed:
                    continue
                explored += terms.saving_usd <= terms.call_usd
            arm = _with(arm, one, state)
            listed = call_cost(result.tokens, GOAL_TOKENS + one.goal_tokens, HAIKU)
            learned = learned.called(one.cost_usd, _CALL_MS, listed).observed(
                result.tokens, result.tokens - one.projected_tokens, result.elided_tokens
            )
        # Nobody knows how often a trim is repeated before its session is over.
        learned = learned.sent(len(results), sum(one.elided.later for one in results))
    return arm


def _terms(one: Filtered, state: CacheState, learned: Learned, name: str, *, was_seen: bool) -> Terms:
    result = one.elided
    left = result.elided_tokens / result.tokens
    share = learned.removed_share(share_in_seat(classify(result.text).removed_share, left))
    expected = expected_reuses(result.messages, learned.mean_repeats, was_seen=was_seen)
    return Terms(
        result.tokens,
        learned.beyond_share * left if name == "excerpt" else share,
        state,
        was_seen,
        result.later if name == "told" else expected,
        PromptPrices(),
        call_cost(result.tokens, GOAL_TOKENS + one.goal_tokens, HAIKU, learned.typical_usd(HAIKU)),
    )


def _with(arm: Arm, one: Filtered, state: CacheState) -> Arm:
    """An arm that asked about one more result."""
    result = one.elided
    now, later = PromptPrices().values(state)
    worth = (now + result.later * later) / _MILLION
    whole = (result.tokens - one.sent_tokens) * worth if one.is_sent else 0.0
    return replace(
        arm,
        calls=arm.calls + 1,
        sent=arm.sent + one.is_sent,
        cost_usd=arm.cost_usd + one.cost_usd,
        beyond_elision_usd=arm.beyond_elision_usd + (result.elided_tokens - one.sent_tokens) * worth,
        beyond_whole_usd=arm.beyond_whole_usd + whole,
    )
