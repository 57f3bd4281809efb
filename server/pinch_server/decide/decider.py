"""One call from its arrival to its answer."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from operator import is_
from typing import Final

from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Chars3, Counter
from pinch_server.core.decision import Decision, Outcome
from pinch_server.core.draft import counted_texts
from pinch_server.core.event import uniform
from pinch_server.core.extraction.considered import Considered
from pinch_server.core.limits import Limits
from pinch_server.core.moments import unix_micros
from pinch_server.core.plan import Plan
from pinch_server.core.planning import measure, plan_pruning, unchanged_plan
from pinch_server.core.probe import Payload, PrefixMatch, compare_rows, head_of, trimmed_rows
from pinch_server.core.scoring import Scoring
from pinch_server.core.session import own_session, session_hash, tenant_hash
from pinch_server.core.tally import Tally
from pinch_server.decide.call import Body, Decided, Measured, Patience, PruneCall
from pinch_server.decide.checkpoints import RecentCheckpoints
from pinch_server.decide.extracting import Extracting
from pinch_server.decide.payloads import RecentPayloads
from pinch_server.decide.ranking import Ranker, RankingPolicy, SettledCheckpoints
from pinch_server.decide.reading import ReadCall, read_call
from pinch_server.decide.row import Policy, decision_row
from pinch_server.decide.worth import worth
from pinch_server.formats.body import Reading, byte_edits
from pinch_server.formats.errors import NotUnderstoodError
from pinch_server.formats.recent import MOST_BYTES, RecentHistories
from pinch_server.formats.worked import NOTHING_WORKED, Worked
from pinch_server.ports import Clock, Ids, Observer, Recorder

_LOG: Final = logging.getLogger(__name__)
_UNTOUCHED: Final = frozenset({"disabled", "not_understood", "unsupported_state"})
"""Reasons to leave a conversation alone altogether."""
_BYTES: Final = Chars3(bound=1.0)
"""Estimates a body that nobody could read by its bytes: three of them a token, whatever they say."""


class Decider:
    """Answers calls. Shared by the threads of a worker.

    What it keeps between calls saves time and decides nothing.

    Args:
        policy: What the operator has set.
        counter: The estimate in force.
        recorder: Keeps what was decided.
        observer: Counts it.
        clock: The time.
        ids: New identifiers.
        ranker: Ranks candidates; None for oldest first.
        recent_bytes: Most memory for conversations that were read lately (bytes); with 0 none is kept.
        extracting: Puts extractions in the place of elisions, and keeps originals; the default does neither.
    """

    def __init__(
        self,
        policy: Policy,
        counter: Counter,
        recorder: Recorder,
        observer: Observer,
        clock: Clock,
        ids: Ids,
        ranker: Ranker | None = None,
        recent_bytes: int = MOST_BYTES,
        *,
        extracting: Extracting | None = None,
    ) -> None:
        self._policy = policy
        self._counter = counter
        self._recorder = recorder
        self._observer = observer
        self._clock = clock
        self._ids = ids
        self._ranker = ranker or Ranker(clock, RankingPolicy(Scoring.AGE))
        self._extracting = extracting or Extracting()
        self._checkpoints = RecentCheckpoints()
        self._payloads = RecentPayloads()
        self.recent: Final = RecentHistories(counter, recent_bytes)
        """The conversations that were read last."""

    @property
    def policy(self) -> Policy:
        """What the operator has set."""
        return self._policy

    def set_policy(self, policy: Policy) -> None:
        """Decides by another policy, from the next call on."""
        self._policy = policy

    def decide(
        self,
        call: PruneCall,
        patience: Patience = Patience(),  # noqa: B008 it is frozen
        written: Callable[[Decided], object] | None = None,
    ) -> Decided:
        """Plans one call, and records the decision before it answers.

        Args:
            call: The call.
            patience: How long its caller waits for the answer.
            written: Given the answer as it is but for `persisted`, before the decision is recorded: when it
                fails, its error comes out here and nothing was recorded.

        Raises:
            InvalidCallError: The call breaks its contract; every violation at once.
        """
        started = self._clock.monotonic()
        # One for the whole call, whatever is set meanwhile.
        policy = self._policy
        read = read_call(call, policy.limits, self._counter, self.recent)
        read_at = self._clock.monotonic()
        self._observer.stage("read", read_at - started)
        give_way = patience.place.give_way
        plan = self._plan(call, read, patience, policy)
        self._observer.stage("plan", self._clock.monotonic() - read_at)
        session = session_hash(call.context.session_id, policy.session_key)
        extracted = self._extracted(call, read, plan, session, policy, patience, started)
        give_way()
        planned = self._write(extracted.plan, read, is_dry=call.dry_run)
        give_way()
        own = own_session(session, tenant_hash(call.context.tenant, policy.session_key))
        payload, prefix = self._probe(own if policy.probes_prefix else None, read, planned)
        give_way()
        decision = self._row(call, read, planned, policy, started, own, prefix)
        give_way()
        conversation, reading = read.conversation, read.reading
        answered = partial(
            Decided,
            decision_id=decision.decision_id,
            budget_tokens=read.limits.budget_tokens,
            stats=planned.plan.stats,
            edits=planned.worked.edits,
            byte_edits=planned.worked.byte_edits,
            unchanged_reason=planned.plan.unchanged_reason,
            measured=self._measured(conversation, planned),
            turn_frame=read.tally.turn_frame() if read.tally else None,
            format=reading.dialect.format if reading else None,
            economics=worth(call.context, read, planned.plan, decision.created_at),
            prefix=prefix,
            considering=extracted.considering,
            worked=planned.worked,
        )
        if written is not None:
            written(answered(persisted=False))
        self._tell(call, planned, decision)
        if own is not None and payload is not None:
            self._payloads.put(own, payload, self._clock.monotonic())
        if prefix is not None and prefix.share is not None:
            self._observer.prefix_matched(prefix.share)
        if read.history is not None:
            if planned.worked.edits:
                read.history.worked = planned.worked
            self.recent.put(read.history)
        # What is left waits for the disk alone.
        patience.place.leave()
        # Last, so that no fault leaves the row of an answer that nobody got.
        answer = answered(persisted=self._keep(decision))
        if answer.persisted and decision.trims:
            planned.worked.told = own
        self._extracting.follow_up(extracted, call.context.tenant, planned.worked.edits)
        return answer

    def report(self, outcome: Outcome) -> bool:
        """Keeps what became of a decision; says whether it can no longer be lost."""
        return self._recorder.report(outcome)

    def _extracted(
        self,
        call: PruneCall,
        read: ReadCall,
        plan: Plan,
        session: str | None,
        policy: Policy,
        patience: Patience,
        started: float,
    ) -> Considered:
        if not self._extracting.is_on or read.tally is None or plan.unchanged_reason in _UNTOUCHED:
            return Considered(plan)
        before = self._clock.monotonic()
        seconds = None if patience.seconds is None else patience.seconds - (before - started)
        with patience.place.aside():
            considered = self._extracting.consider(
                call,
                read.tally,
                read.limits,
                plan,
                session,
                tenant_hash(call.context.tenant, policy.session_key),
                unix_micros(self._clock.now()),
                seconds,
            )
        self._observer.stage("extract", self._clock.monotonic() - before)
        return considered

    def _plan(self, call: PruneCall, read: ReadCall, patience: Patience, policy: Policy) -> Plan:
        limits, conversation = read.limits, read.conversation
        if conversation is None or read.tally is None:
            size = len(call.conversation.json) if isinstance(call.conversation, Body) else 0
            return unchanged_plan(_BYTES.tokens(size), limits, "not_understood")
        if not policy.is_enabled:
            return unchanged_plan(
                measure(conversation, limits, self._counter, read.tally), limits, "disabled"
            )
        plan = self._planned(conversation, read.tally, limits, patience)
        return replace(plan, unchanged_reason=plan.unchanged_reason or "dry_run") if call.dry_run else plan

    def _planned(self, conversation: Conversation, tally: Tally, limits: Limits, patience: Patience) -> Plan:
        if not limits.relevance:
            return plan_pruning(
                conversation,
                limits,
                self._counter,
                order=uniform,
                checkpoints=self._checkpoints,
                tally=tally,
                give_way=patience.place.give_way,
            )
        ranking = self._ranker.for_call(tally, limits, patience)
        kept = SettledCheckpoints(self._checkpoints, ranking)
        plan = plan_pruning(
            conversation,
            limits,
            self._counter,
            order=ranking,
            checkpoints=kept,
            tally=tally,
            give_way=patience.place.give_way,
        )
        if ranking.seconds:
            self._observer.stage("rank", ranking.seconds)
        if not ranking.reason:
            return plan
        if not plan.stats.ranking_reason:
            plan = replace(plan, stats=replace(plan.stats, ranking_reason=ranking.reason))
        # As with the checkpoints: no later call may go on from a plan that was made without vectors.
        tally.left_off = None
        if not ranking.is_final:
            tally.planned = None
        elif tally.planned is not None:
            tally.planned = tally.planned[0], plan
        return plan

    def _write(self, plan: Plan, read: ReadCall, *, is_dry: bool) -> "_Planned":
        if is_dry or not plan.edits:
            return _Planned(plan)
        known = read.history.worked.of(plan.edits) if read.history is not None else None
        if read.reading is None:
            return _Planned(plan, known or Worked(plan.edits))
        before = self._clock.monotonic()
        planned = _Planned(plan, known) if known else _written(plan, read.reading, read.limits)
        self._observer.stage("write", self._clock.monotonic() - before)
        return planned

    def _measured(self, conversation: Conversation | None, planned: "_Planned") -> Measured | None:
        if conversation is not None and conversation.unsupported is not None:
            return None
        counter = _BYTES if conversation is None else self._counter
        stats = planned.plan.stats
        shipped = stats.final_tokens if planned.worked.edits else stats.original_tokens
        texts = counted_texts(conversation.messages) if conversation else ()
        return Measured(shipped, counter.method, counter.error_bound(texts))

    def _probe(
        self, own: str | None, read: ReadCall, planned: "_Planned"
    ) -> tuple[Payload | None, PrefixMatch | None]:
        """What ships, and how much of the session's previous payload it repeats."""
        conversation, tally = read.conversation, read.tally
        if own is None:
            return None, None
        if conversation is None or tally is None or conversation.unsupported is not None:
            return None, None
        stats, worked = planned.plan.stats, planned.worked
        rows = tally.rows()
        if worked.rows is None:
            worked.rows = trimmed_rows(conversation.messages, worked.edits, rows)
        return compare_rows(
            read.history.beside.head if read.history is not None else head_of(conversation),
            rows,
            worked.rows,
            self._payloads.get(own, self._clock.monotonic()),
            final_tokens=stats.final_tokens if worked.edits else stats.original_tokens,
            fixed_tokens=stats.fixed_tokens,
        )

    def _row(
        self,
        call: PruneCall,
        read: ReadCall,
        planned: "_Planned",
        policy: Policy,
        started: float,
        own: str | None,
        prefix: PrefixMatch | None,
    ) -> Decision:
        now = self._clock.now()
        plan, worked = planned.plan, planned.worked
        return decision_row(
            call,
            read,
            plan,
            policy,
            decision_id=self._ids.decision_id(now),
            now=now,
            seconds=self._clock.monotonic() - started,
            session=session_hash(call.context.session_id, policy.session_key),
            prefix=prefix,
            removed=worked.removed if worked.edits is plan.edits else None,
            is_told=own is not None and worked.told == own,
        )

    def _keep(self, decision: Decision) -> bool:
        before = self._clock.monotonic()
        persisted = False
        try:
            persisted = self._recorder.record(decision)
            self._observer.stage("record", self._clock.monotonic() - before)
        except Exception as error:  # noqa: BLE001 whatever a recorder does, the caller gets the plan
            # By its type alone: a message may quote what it failed on.
            _LOG.error("the recorder failed with %s: decision not kept", type(error).__name__)
        return persisted

    def _tell(self, call: PruneCall, planned: "_Planned", decision: Decision) -> None:
        stats = planned.plan.stats
        self._observer.ranked(stats.ranking.lower())
        self._observer.decided(
            route=decision.route.lower(),
            result=_result(planned, is_dry=call.dry_run),
            original_tokens=stats.original_tokens,
            final_tokens=decision.pinch_final_tokens,
            elided=stats.elided,
            omitted=stats.omitted,
            capped=stats.capped,
            budget_met=stats.budget_met,
        )


@dataclass(frozen=True, slots=True)
class _Planned:
    """A plan and what ships of it.

    Attributes:
        plan: What was decided.
        worked: Those of its edits that are made, none in a dry run, and what follows from them.
    """

    plan: Plan
    worked: Worked = NOTHING_WORKED


def _written(plan: Plan, reading: Reading, limits: Limits) -> _Planned:
    try:
        pairs = byte_edits(reading, plan.edits)
    except NotUnderstoodError:
        return _Planned(unchanged_plan(plan.stats.original_tokens, limits, "not_understood"))
    edits = tuple(edit for edit, _ in pairs)
    if all(map(is_, edits, plan.edits)):
        edits = plan.edits
    return _Planned(plan, Worked(edits, tuple(written for _, written in pairs)))


def _result(planned: _Planned, *, is_dry: bool) -> str:
    """The metric's word for what came of a call."""
    reason = planned.plan.unchanged_reason
    if is_dry and planned.plan.edits:
        return "dry_run"
    if planned.worked.edits:
        return "pruned"
    return {
        "disabled": "disabled",
        "not_understood": "not_understood",
        "unsupported_state": "not_understood",
    }.get(reason, "within_budget" if reason == "within_budget" else "nothing_to_trim")
