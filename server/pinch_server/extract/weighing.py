"""Taking the results of one call through the gates, and remembering of the session what they need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import inf
from typing import Final, Protocol

from pinch_server.core.extraction.candidate_gate import Around, Candidate, Gate, Known, capped, gate_of
from pinch_server.core.extraction.classes import classify
from pinch_server.core.extraction.cold import LONGEST_SECONDS, PastCall, certain_state
from pinch_server.core.extraction.considered import Considering, ExtractionCall, Found, Note
from pinch_server.core.extraction.economics import (
    GOAL_TOKENS,
    REUSES_SEEN,
    Against,
    Allowance,
    PromptPrices,
    Reason,
    Terms,
    Verdict,
    call_cost,
    expected_reuses,
    weigh,
)
from pinch_server.core.extraction.goal import goal_text
from pinch_server.core.extraction.guard import END_CHARS
from pinch_server.core.extraction.learning import Learned, share_in_seat
from pinch_server.core.extraction.request_gate import FireOn, Opened, Request, open_request
from pinch_server.core.extraction.seats import Seat
from pinch_server.core.limits import PLAIN_KEPT_CHARS
from pinch_server.core.pricing import CacheState
from pinch_server.extract.policy import ExtractionPolicy
from pinch_server.extract.prompts.conversation import told_text
from pinch_server.extract.remembered import MOST_SEEN, MOST_SESSIONS, Recent, SessionFacts

_FOUND: Final = {Gate.REPLAYED_OTHERS: Found.TEXT, Gate.REFUSED_BEFORE: Found.REFUSAL}
_NOT_LOOKED_FOR: Final = frozenset(
    {
        Gate.NON_TEXT,
        Gate.EMPTY_OR_MARKED,
        Gate.EXPANDED,
        Gate.CACHED_PREFIX,
        Gate.CACHED_PREFIX_LARGE,
        Gate.BELOW_FLOOR,
    }
)
"""Gates before which nothing frozen is asked for, and the floor below which it does not count."""


class Seen(Enum):
    """Where a content came before."""

    NOWHERE = auto()
    HERE = auto()
    """In this session alone."""
    ELSEWHERE = auto()
    """In another one too."""


_SEVERAL: Final = ""
"""In the place of the one session that a content came in."""


@dataclass(slots=True)
class Weighing:
    """One call on its way through the gates.

    Attributes:
        policy: What the operator has set.
        call: The call.
        opened: What it may do.
        around: What else the gates need.
        state: What the provider's cache is taken to hold.
        facts: What is remembered of its session.
        learned: What calls have taught so far.
        seen: Notes a content, and says where it was noted before.
        in_request: Calls to the model reserved so far.
    """

    policy: ExtractionPolicy
    call: ExtractionCall
    opened: Opened
    around: Around
    state: CacheState
    facts: SessionFacts
    learned: Learned
    seen: Callable[[str], Seen]
    in_request: int = 0

    def weighed(
        self, seat: Seat, known: Known, content: str, *, was_expanded: bool, is_now: bool
    ) -> Considering:
        """What becomes of one result.

        Args:
            seat: The result.
            known: What is frozen of it.
            content: The name of its content.
            was_expanded: Whether its original was asked for.
            is_now: Whether a filter would be written before the reply.
        """
        text = seat.part.text if seat.part is not None else ""
        candidate = Candidate(
            text,
            seat.tokens,
            is_text=seat.part is not None,
            is_marked=seat.is_marked,
            was_expanded=was_expanded,
            was_sent_trimmed=seat.edit is not None and not seat.is_new,
            known=known,
            index=seat.message,
            elided_tokens=seat.elided_tokens,
        )
        shown = seat.tokens * min(1.0, 2 * END_CHARS / max(1, len(text)))
        gate = gate_of(candidate, self.opened, self.around, round(shown))
        found = _FOUND.get(gate, None if gate in _NOT_LOOKED_FOR else Found.NOTHING)
        considering = Considering(seat.message, seat.block, gate, seat.tokens, self.state, found=found)
        if gate is not Gate.ALLOWED or not self.policy.needs_model:
            return considering
        return self._priced(considering, seat, text, self.seen(content), is_now=is_now)

    def _priced(
        self, considering: Considering, seat: Seat, text: str, seen: Seen, *, is_now: bool
    ) -> Considering:
        kind = classify(text)
        listed = call_cost(seat.tokens, GOAL_TOKENS + self.around.goal_tokens, self.policy.prices)
        left = _left(seat, text)
        share = self._share(kind.removed_share, left)
        verdict = self._verdict(seat, share, seen, is_now=is_now)
        terms = verdict.terms
        considering = replace(
            considering,
            reason=verdict.reason,
            content_class=kind.name,
            removed_share=terms.removed_share,
            reuses=round(terms.reuses),
            saving_usd=terms.saving_usd,
            call_usd=terms.call_usd,
            excerpt_tokens=round(seat.tokens * left),
            listed_usd=listed,
            notes=() if self.policy.prices is not None else (Note.UNPRICED,),
        )
        if not verdict.is_allowed and self.policy.has_gate:
            if kind.is_low_yield:
                considering = replace(considering, notes=(Note.LOW_YIELD, *considering.notes))
            # Advice may be passed over; that a provider's cache makes it lose is a ban until it is lifted.
            if verdict.reason is Reason.CACHING or self.policy.rules.fire_on is not FireOn.SIZE:
                return replace(considering, gate=Gate.ECONOMIC)
            considering = replace(considering, gate=Gate.ADVISORY)
        cap = capped(
            self.policy.caps,
            is_sweeping=self.opened.is_sweeping,
            in_request=self.in_request,
            in_session=self.facts.calls,
        )
        return considering if cap is None else replace(considering, gate=cap)

    def reserve(self, considering: Considering) -> None:
        """Counts a call to the model before it is made."""
        self.in_request += 1
        if not self.opened.is_sweeping:
            self.facts.calls += 1
        if considering.saving_usd <= considering.call_usd:
            self.facts.explored += 1

    def _verdict(self, seat: Seat, share: float, seen: Seen, *, is_now: bool) -> Verdict:
        policy = self.policy
        terms = Terms(
            seat.tokens,
            share,
            self.state,
            seen is not Seen.NOWHERE,
            self._reuses(seat, seen, is_now=is_now),
            PromptPrices.of(self.call.rates),
            call_cost(
                seat.tokens,
                GOAL_TOKENS + self.around.goal_tokens,
                policy.prices,
                self.learned.typical_usd(policy.prices),
            ),
            is_now,
        )
        return weigh(
            terms,
            Allowance(
                policy.allows_caching or not policy.has_gate,
                self.opened.is_sweeping,
                self.learned.may_explore(self.facts.explored),
            ),
        )

    def _share(self, of_class: float, left: float) -> float:
        """What a filter is expected to remove of a result, beyond what is sent otherwise (0 to 1)."""
        if self.policy.against is Against.EXCERPT:
            return self.learned.beyond_share * left
        return self.learned.removed_share(share_in_seat(of_class, left))

    def _reuses(self, seat: Seat, seen: Seen, *, is_now: bool) -> float:
        """Calls after this one that are expected to send what is left of a result."""
        if seat.is_new and not is_now:
            # Its session sends the excerpt for good: only others may have the text.
            return REUSES_SEEN if seen is Seen.ELSEWHERE else 0
        told = self.call.cache.further_calls
        if told is not None:
            return told
        messages = len(self.call.tally.messages)
        return expected_reuses(messages, self.learned.mean_repeats, was_seen=seen is not Seen.NOWHERE)


def _is_short(ttl_seconds: int | None) -> bool:
    return ttl_seconds is not None and ttl_seconds < LONGEST_SECONDS


def _left(seat: Seat, text: str) -> float:
    """The share of a result that its excerpt is, or will be (0 to 1)."""
    if seat.elided_tokens is not None:
        return min(1.0, seat.elided_tokens / max(1, seat.tokens))
    return min(1.0, PLAIN_KEPT_CHARS / max(1, len(text)))


class RemembersCalls(Protocol):
    """Knows the last calls of sessions."""

    def recent(self, session: str, tenant: str | None) -> Sequence[PastCall] | None:
        """A tenant's session's last calls, newest first; None when nobody tells."""
        ...

    def longest_ttl(self, session: str, tenant: str | None) -> int | None:
        """The longest time to live that it ever asked for; 0 for none, None when nobody tells (seconds)."""
        ...


class Weigher:
    """Begins the weighing of calls. Shared by threads.

    Args:
        policy: What the operator has set.
        past_calls: Knows the last calls of sessions; None where nobody does.
    """

    def __init__(self, policy: ExtractionPolicy, past_calls: RemembersCalls | None = None) -> None:
        self._policy = policy
        self._past_calls = past_calls
        self._sessions: Recent[str, SessionFacts] = Recent(MOST_SESSIONS)
        self._seen: Recent[tuple[str, str], str] = Recent(MOST_SEEN)
        self._called: Recent[str, int] = Recent(MOST_SESSIONS)

    def begin(self, call: ExtractionCall, learned: Learned) -> Weighing:
        """Takes a call through the gates of requests."""
        policy, tally = self._policy, call.tally
        alias = f"{call.tenant}\0{tally.digest(min(2, len(tally.messages))).hex()}"
        session = f"{call.tenant}\0{call.session}" if call.session else alias
        facts = self._sessions.get(session) or SessionFacts()
        reading = certain_state(
            call.cache, call.now_micros, self._past(call, alias), self._longest_ttl(call, facts)
        )
        state = reading.state
        goal = goal_text(tally.messages)
        total = call.plan.stats.original_tokens
        opened = open_request(
            policy.rules,
            Request(
                total,
                len(tally.messages),
                call.limits.budget_tokens,
                goal,
                facts.previous_tokens,
                state is CacheState.COLD,
                # A caller that says the cache is cold has waited long enough.
                inf if call.cache.state is CacheState.COLD else reading.idle_seconds,
                facts.qualified,
            ),
        )
        if not call.is_dry:
            facts.longest_ttl = max(facts.longest_ttl, call.cache.ttl_seconds or 0)
            facts.previous_tokens = total
            facts.qualified += opened.fires and not opened.is_sweeping
            self._sessions.put(session, facts)
        around = Around(
            is_caching=state is not CacheState.NONE,
            model_window=policy.window,
            goal_tokens=self._goal_tokens(call) if opened.may_call else 0,
            # The plan has chosen what to change already: what it leaves whole stays so, cached or not.
            cached_to=-1,
            skips_file_reads=policy.skips_reads,
            keep_ratio=policy.keep_ratio,
        )
        return Weighing(
            policy,
            call,
            opened,
            around,
            state,
            facts,
            learned,
            lambda content: self._where_seen(call, session, content),
        )

    def _where_seen(self, call: ExtractionCall, session: str, content: str) -> Seen:
        key = call.tenant, content
        if call.is_dry:
            before = self._seen.get(key)
        else:
            before = self._seen.exchange(key, lambda by: session if by in (None, session) else _SEVERAL)
        if before is None:
            return Seen.NOWHERE
        return Seen.HERE if before == session else Seen.ELSEWHERE

    def _goal_tokens(self, call: ExtractionCall) -> int:
        """The size of what a prompt tells of the conversation (tokens)."""
        policy, counter = self._policy, call.tally.counter
        told = told_text(call.tally.messages, policy.context, policy.context_messages)
        return counter.tokens(counter.units([told])[0])

    def _longest_ttl(self, call: ExtractionCall, facts: SessionFacts) -> int:
        """The longest time to live that a session asked for; where nobody tells, the longest there is."""
        cache = call.cache
        if cache.state is not None or not _is_short(cache.ttl_seconds):
            return 0
        if self._past_calls is None or call.session is None:
            return facts.longest_ttl
        longest = self._past_calls.longest_ttl(call.session, call.owner)
        return max(facts.longest_ttl, LONGEST_SECONDS if longest is None else longest)

    def _past(self, call: ExtractionCall, alias: str) -> Sequence[PastCall]:
        """The session's last calls, and when a conversation that began alike was last seen here.

        A session may have changed its name, and its last call may not be in the database yet: the later of
        the two holds. Where nobody tells of a session, it is as good as new.
        """
        seen = self._called.get(alias)
        if not call.is_dry:
            self._called.put(alias, call.now_micros)
        if self._past_calls is None or call.session is None or call.cache.state is not None:
            return ()
        past = self._past_calls.recent(call.session, call.owner)
        if not past:
            return ()
        is_later = seen is not None and seen > past[0].at_micros
        return (PastCall(seen), *past) if seen is not None and is_later else past
