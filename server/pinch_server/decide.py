"""The use case: read, count, plan, write, record. Whatever fails on the way is a value in the reply."""

import hashlib
import hmac
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from pinch_server.core.conversation import Conversation, Message
from pinch_server.core.counting import Counter
from pinch_server.core.decision import Decision, Outcome
from pinch_server.core.limits import Limits, Violation, limit_violations
from pinch_server.core.plan import Edit, Plan, Stats
from pinch_server.core.planning import plan_pruning, unchanged_plan
from pinch_server.core.turn_frame import TurnFrame, turn_frame
from pinch_server.formats.body import Reading, byte_edits, read_body
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import ByteEdit
from pinch_server.ports import Clock, Ids, Observer, Recorder

_LOG: Final = logging.getLogger(__name__)


class InvalidCallError(Exception):
    """The caller's fault: fields of the call break their bounds.

    Attributes:
        violations: Every one of them.
    """

    def __init__(self, violations: tuple[Violation, ...]) -> None:
        super().__init__("; ".join(map(str, violations)))
        self.violations = violations


@dataclass(frozen=True, slots=True)
class Body:
    """A provider's request JSON.

    Attributes:
        json: The bytes as they came.
        format: Their dialect; None to recognise it.
    """

    json: bytes
    format: Format | None = None


@dataclass(frozen=True, slots=True)
class CallContext:
    """What the router knows about the call; it never changes the plan.

    Attributes:
        request_id: The router's own name for it.
        session_id: The session it belongs to; only a keyed hash is kept.
        route: ROUTED or PASSTHROUGH.
        model: The model that is expected to answer.
        prompt_rate: USD per million prompt tokens, as a decimal string.
        cached_rate: USD per million cached prompt tokens, as a decimal string.
        cache_write_rate: USD per million tokens written to the cache, as a decimal string.
    """

    request_id: str = ""
    session_id: str = ""
    route: str = "ROUTED"
    model: str = ""
    prompt_rate: str = ""
    cached_rate: str = ""
    cache_write_rate: str = ""


@dataclass(frozen=True, slots=True)
class PruneCall:
    """One call.

    Attributes:
        conversation: The conversation as typed by the caller, or as a body to read.
        limits: The limits the caller sets, by name; the others are the server's.
        context: What the router knows.
        dry_run: Whether to plan and count but change nothing.
        violations: What was found wrong before the call got here, to be told with all the rest.
    """

    conversation: Conversation | Body
    limits: Mapping[str, Any] = field(default_factory=dict)
    context: CallContext = CallContext()
    dry_run: bool = False
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """The prompt that ships.

    Attributes:
        tokens: Its estimated size, tool definitions included (tokens).
        method: The estimate's name.
        error_bound: How far it may lie from the truth, relative to it.
    """

    tokens: int
    method: str
    error_bound: float


@dataclass(frozen=True, slots=True)
class Decided:
    """The answer to one call.

    Attributes:
        decision_id: Its id.
        persisted: Whether the decision can no longer be lost.
        stats: What the plan adds up to.
        edits: What changes; empty in a dry run.
        byte_edits: For a body, the byte range of each edit, in the same order; empty for typed messages.
        unchanged_reason: Why nothing changes, as a slug; empty when something does.
        measured: The prompt that ships; None when the history is not in the request.
        turn_frame: The current turn for the router's classifier; None when nothing could be read.
        format: The dialect the body was read in; None for typed messages and unreadable bodies.
    """

    decision_id: str
    persisted: bool
    stats: Stats
    edits: tuple[Edit, ...]
    byte_edits: tuple[ByteEdit, ...]
    unchanged_reason: str
    measured: Measured | None
    turn_frame: TurnFrame | None
    format: Format | None


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator has set.

    Attributes:
        limits: The limits of a call that sets none.
        is_enabled: Whether anything is pruned at all.
        fingerprint: A short hash of the settings that shape plans.
        session_key: The key of the session hash.
    """

    limits: Limits
    is_enabled: bool
    fingerprint: str
    session_key: bytes


class Decider:
    """Answers calls. Shared by the threads of a worker; holds no state between calls."""

    def __init__(
        self,
        policy: Policy,
        counter: Counter,
        recorder: Recorder,
        observer: Observer,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._policy = policy
        self._counter = counter
        self._recorder = recorder
        self._observer = observer
        self._clock = clock
        self._ids = ids

    def decide(self, call: PruneCall) -> Decided:
        """Plans one call, and records the decision before it answers.

        Raises:
            InvalidCallError: The call breaks its contract; every violation at once.
        """
        started = self._clock.monotonic()
        limits, violations = _limits_of(call, self._policy.limits)
        violations = call.violations + violations + _rate_violations(call.context)
        reading: Reading | None = None
        conversation: Conversation | None = None
        if isinstance(call.conversation, Conversation):
            conversation = call.conversation
        else:
            try:
                reading = read_body(call.conversation.json, call.conversation.format)
                conversation = reading.conversation
            except BodyError as error:
                violations += (Violation(error.field, error.problem),)
            except NotUnderstoodError:
                pass
        if violations:
            raise InvalidCallError(violations)
        read_at = self._clock.monotonic()
        self._observer.stage("read", read_at - started)

        if conversation is None:
            planned = _Planned(unchanged_plan(0, limits, "not_understood"))
        else:
            planned = self._plan(conversation, reading, limits, is_dry=call.dry_run)
        self._observer.stage("plan", self._clock.monotonic() - read_at)
        measured = self._measure(call, conversation, planned)
        return self._record(call, conversation, reading, limits, planned, measured, started)

    def report(self, outcome: Outcome) -> bool:
        """Keeps what became of a decision; says whether it can no longer be lost."""
        return self._recorder.report(outcome)

    def _plan(
        self, conversation: Conversation, reading: Reading | None, limits: Limits, *, is_dry: bool
    ) -> "_Planned":
        if not self._policy.is_enabled:
            total = plan_pruning(replace(conversation, unsupported="disabled"), limits, self._counter)
            return _Planned(total)
        plan = plan_pruning(conversation, limits, self._counter)
        if is_dry:
            return _Planned(replace(plan, unchanged_reason=plan.unchanged_reason or "dry_run"))
        if reading is None or not plan.edits:
            return _Planned(plan, plan.edits)
        try:
            pairs = byte_edits(reading, plan.edits)
        except NotUnderstoodError:
            return _Planned(unchanged_plan(plan.stats.original_tokens, limits, "not_understood"))
        return _Planned(plan, tuple(edit for edit, _ in pairs), tuple(written for _, written in pairs))

    def _measure(
        self, call: PruneCall, conversation: Conversation | None, planned: "_Planned"
    ) -> Measured | None:
        counter = self._counter
        if conversation is None:
            size = len(call.conversation.json) if isinstance(call.conversation, Body) else 0
            return Measured(counter.tokens(size), counter.method, 1.0)
        if conversation.unsupported is not None:
            return None
        stats = planned.plan.stats
        shipped = stats.final_tokens if planned.edits else stats.original_tokens
        return Measured(shipped, counter.method, counter.error_bound)

    def _record(
        self,
        call: PruneCall,
        conversation: Conversation | None,
        reading: Reading | None,
        limits: Limits,
        planned: "_Planned",
        measured: Measured | None,
        started: float,
    ) -> Decided:
        stats, context = planned.plan.stats, call.context
        now = self._clock.now()
        messages: tuple[Message, ...] = conversation.messages if conversation else ()
        format_name = reading.dialect.format if reading else None
        is_counted = self._policy.is_enabled and conversation is not None
        decision = Decision(
            decision_id=self._ids.decision_id(now),
            created_at=unix_micros(now),
            request_id=context.request_id or None,
            session_hash=self._session_hash(context.session_id),
            route=context.route,
            model=context.model or None,
            format=_recorded_format(call, format_name),
            pinch_original_tokens=stats.original_tokens if is_counted else None,
            pinch_final_tokens=stats.final_tokens if is_counted else None,
            extra_fixed_tokens=_fixed_tokens(conversation, limits),
            messages=len(messages),
            candidates=stats.candidates,
            elided=stats.elided,
            omitted=stats.omitted,
            capped=stats.capped,
            budget_tokens=limits.budget_tokens,
            budget_met=stats.budget_met,
            ranking=stats.ranking.name,
            ranking_reason=stats.ranking_reason or None,
            unchanged_reason=planned.plan.unchanged_reason or None,
            stability=limits.stability.name,
            trim_style=limits.trim_style.name,
            dry_run=call.dry_run,
            latency_us=round((self._clock.monotonic() - started) * 1e6),
            prompt_rate=context.prompt_rate or None,
            cached_rate=context.cached_rate or None,
            cache_write_rate=context.cache_write_rate or None,
            settings_fingerprint=self._policy.fingerprint,
            pinch_enabled=self._policy.is_enabled,
        )
        before = self._clock.monotonic()
        persisted = self._keep(decision)
        self._observer.stage("record", self._clock.monotonic() - before)
        self._observer.decided(
            route=context.route.lower(),
            result=_result(planned, is_dry=call.dry_run),
            original_tokens=stats.original_tokens,
            final_tokens=stats.final_tokens if is_counted else None,
            elided=stats.elided,
            omitted=stats.omitted,
            capped=stats.capped,
            budget_met=stats.budget_met,
        )
        return Decided(
            decision_id=decision.decision_id,
            persisted=persisted,
            stats=stats,
            edits=planned.edits,
            byte_edits=planned.byte_edits,
            unchanged_reason=planned.plan.unchanged_reason,
            measured=measured,
            turn_frame=turn_frame(messages) if conversation else None,
            format=format_name,
        )

    def _keep(self, decision: Decision) -> bool:
        try:
            return self._recorder.record(decision)
        except Exception as error:  # noqa: BLE001 whatever a recorder does, the caller gets the plan
            # By its type alone: a message may quote what it failed on.
            _LOG.error("the recorder failed with %s: decision not kept", type(error).__name__)
            return False

    def _session_hash(self, session_id: str) -> str | None:
        if not session_id:
            return None
        return hmac.new(self._policy.session_key, session_id.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class _Planned:
    plan: Plan
    edits: tuple[Edit, ...] = ()
    byte_edits: tuple[ByteEdit, ...] = ()


def _limits_of(call: PruneCall, defaults: Limits) -> tuple[Limits, tuple[Violation, ...]]:
    limits = replace(defaults, **call.limits)
    named = (Violation(f"limits.{v.field}", v.problem) for v in limit_violations(limits))
    return limits, tuple(named)


def _rate_violations(context: CallContext) -> tuple[Violation, ...]:
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
        if text and not is_price(text)
    )


def is_price(text: str) -> bool:
    """Whether a text is an amount of money: a finite decimal, not below zero, of 40 characters at most."""
    if len(text) > 40:
        return False
    try:
        price = Decimal(text)
    except InvalidOperation:
        return False
    return price.is_finite() and price >= 0


def _fixed_tokens(conversation: Conversation | None, limits: Limits) -> int:
    if limits.extra_fixed_tokens is not None:
        return limits.extra_fixed_tokens
    return conversation.tools_tokens if conversation else 0


def _recorded_format(call: PruneCall, read_as: Format | None) -> str:
    if read_as is not None:
        return read_as
    if isinstance(call.conversation, Body):
        return call.conversation.format or "unknown"
    return "chat"


def _result(planned: _Planned, *, is_dry: bool) -> str:
    """The metric's word for what came of a call."""
    reason = planned.plan.unchanged_reason
    if is_dry and planned.plan.edits:
        return "dry_run"
    if planned.edits:
        return "pruned"
    return {
        "disabled": "disabled",
        "not_understood": "not_understood",
        "unsupported_state": "not_understood",
    }.get(reason, "within_budget" if reason == "within_budget" else "nothing_to_trim")


def unix_micros(moment: datetime) -> int:
    """A moment as microseconds since the Unix epoch, exactly."""
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return elapsed.days * 86_400_000_000 + elapsed.seconds * 1_000_000 + elapsed.microseconds
