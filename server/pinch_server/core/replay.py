"""The plan as a replay: what was trimmed at each earlier call follows from the history alone.

The conversation is walked from its start, and at each point at which a call was made the rules are applied to
what stood before it. So two calls of one session share their whole prefix except where an event falls between
them, on any replica, with no session store.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pinch_server.core.checkpoint import Checkpoints, checkpoint_key
from pinch_server.core.conversation import Message, Speaker
from pinch_server.core.draft import Draft, DraftResult
from pinch_server.core.event import Event, Order, candidates_at
from pinch_server.core.forms import FormAt
from pinch_server.core.ledger import OPENED, Ledger, pays_back
from pinch_server.core.limits import Limits, Trigger
from pinch_server.core.plan import Edit, Reason
from pinch_server.core.pool import Pool
from pinch_server.core.prospect import Bar, Prospect
from pinch_server.core.protection import protection
from pinch_server.core.standing import Standing
from pinch_server.core.trimming import Step
from pinch_server.core.window import Window, WindowWalk


def call_points(messages: Sequence[Message]) -> list[int]:
    """The points at which calls were made, each as the number of messages that stood before it.

    One stands before each run of model output, and one at the end; a closing run (a prefill) belongs to the
    point before it, and the end then adds none.
    """
    points = [
        index
        for index, message in enumerate(messages)
        if message.speaker is Speaker.MODEL and index > 0 and messages[index - 1].speaker is not Speaker.MODEL
    ]
    if not messages or messages[-1].speaker is not Speaker.MODEL:
        points.append(len(messages))
    return points or [len(messages)]


@dataclass(slots=True)
class Replay:
    """A walk over the call points of one conversation.

    Attributes:
        messages: The whole history.
        draft: Its sizes and what has been trimmed; nothing included yet.
        limits: What may ship.
        form_at: The form in force at an event.
        order: How candidates are ranked.
        event: The event of the newest point; None when none was held there.
        is_gain_small: Whether the newest point was over budget with too little to gain.
        edits: Every changed part at the newest point, in the order of the conversation.
    """

    messages: Sequence[Message]
    draft: Draft
    limits: Limits
    form_at: FormAt
    order: Order
    event: Event | None = None
    is_gain_small: bool = False
    edits: tuple[Edit, ...] = ()
    _walk: WindowWalk = field(init=False)
    _outsized: list[int] = field(default_factory=list)
    _pool: Pool = field(init=False)
    _ledger: Ledger = OPENED
    _whole_totals: list[int] = field(init=False)
    _resumed: Standing | None = None
    _is_changed: bool = False

    def __post_init__(self) -> None:
        self._whole_totals = self.draft.totals() if self.limits.is_reckoned else []
        self._walk = WindowWalk(self.limits)
        self._pool = Pool(self.limits, [])

    def run(self, checkpoints: Checkpoints | None = None, rules: str = "") -> int:
        """Walks all points, and tells what is changed at the newest in `edits`; gives that point.

        Args:
            checkpoints: Where earlier calls left off; None to walk from the start.
            rules: Everything the plan depends on beside the messages, in one text.
        """
        points = self.draft.tally.points()
        first = self._resume(points, rules, checkpoints) if checkpoints is not None else self._begin(0)
        for point in points[first:]:
            self._reach(point)
        self.edits = self._edits(points[-1])
        if checkpoints is not None and first < len(points):
            standing = self._leave_off(points[-1], rules)
            self.draft.tally.left_off = standing
            checkpoints.put(standing.key, standing.checkpoint)
        self.draft.include(len(self.messages))
        return points[-1]

    def points(self) -> Iterator[int]:
        """Walks all points from the start, and stops at each for whoever wants to look at the draft."""
        self._begin(0)
        for point in call_points(self.messages):
            self._reach(point)
            yield point

    def _resume(self, points: Sequence[int], rules: str, checkpoints: Checkpoints) -> int:
        """Restores the newest known point before the last; gives the index of the point to go on from.

        The last point is always walked: what is new in this call has to be told.
        """
        tally = self.draft.tally
        for standing in tally.standings:
            index = bisect_left(points, standing.end)
            if standing.rules == rules and index < len(points) - 1 and points[index] == standing.end:
                return self._go_on(standing, index)
        for index in range(len(points) - 2, -1, -1):
            checkpoint = checkpoints.get(checkpoint_key(tally.digest(points[index]), rules))
            if checkpoint is not None:
                self.draft.restore(checkpoint)
                self._ledger = checkpoint.ledger
                self._begin(0)
                self._walk_to(points[index])
                return index + 1
        return self._begin(0)

    def _begin(self, first: int) -> int:
        """Looks at the results from the index `first` on; gives 0, the point to start from."""
        is_protected = protection(self.limits.protected_tools)
        cap = self.limits.protected_max_chars
        results = self.draft.results
        for index in range(first, len(results)):
            if not is_protected(results[index].tool):
                self._pool.results.append(index)
                if cap and results[index].chars > cap:
                    self._outsized.append(index)
        return 0

    def _go_on(self, standing: Standing, index: int) -> int:
        self.draft.resume(standing)
        self._resumed = standing
        self._ledger = standing.ledger
        self._walk, self._pool = standing.walk.copy(), standing.pool.copy()
        self._outsized = list(standing.outsized)
        self._begin(self.draft.tally.results_before[standing.end])
        return index + 1

    def _leave_off(self, end: int, rules: str) -> Standing:
        draft, before = self.draft, self._resumed
        if before is not None and not self._is_changed:
            # Found again by an older key, it costs a few points more; a new key would have to be hashed.
            key, checkpoint, edits = before.key, before.checkpoint, before.edits
        else:
            key = checkpoint_key(draft.tally.digest(end), rules)
            checkpoint = replace(draft.checkpoint(), ledger=self._ledger)
            edits = tuple(
                replace(edit, is_new=False, removed_before=0) if edit.is_new else edit for edit in self.edits
            )
        return Standing(
            rules,
            end,
            draft.total,
            draft.units,
            draft.images,
            draft.results,
            self._outsized,
            self._walk,
            self._pool,
            self._ledger,
            draft.heard,
            edits,
            key,
            checkpoint,
        )

    def _edits(self, end: int) -> tuple[Edit, ...]:
        if self._resumed is not None and not self._is_changed:
            return self._resumed.edits
        return tuple(self.draft.edits(end))

    def _walk_to(self, end: int) -> None:
        while self._walk.end < end:
            self._walk.read(self.messages[self._walk.end])
        self.draft.include(end)

    def _reach(self, end: int) -> None:
        self.event = None
        self.is_gain_small = False
        self._walk_to(end)
        if self.limits.caps_on_arrival:
            self._cap_fresh(self._walk.window().fresh_start, end)
        is_held = False
        if self.draft.total > self.limits.budget_tokens:
            is_held = self._hold(end)
            if not is_held:
                self.is_gain_small = True
                self._cap_fresh(self._walk.window().fresh_start, end)
        elif self.limits.trigger is Trigger.ECONOMIC and self.draft.total > self.limits.target:
            is_held = self._hold(end)
        if self.limits.is_reckoned:
            # Without an event only fresh results were changed, and those nobody was sent.
            shared = self._shared(end) if is_held else self._ledger.sent
            self._ledger = self._ledger_after(end, shared)

    def _hold(self, end: int) -> bool:
        """Holds an event, unless it would gain too little or cost too much; says whether it did."""
        window = self._walk.window()
        self._pool.extend(self.draft, window.contracted_start)
        if self._gain(window, end) < self._least_gain():
            return False
        self.draft.own()
        before = self.draft.total
        event = Event(self.draft, self.limits, self.form_at(end), self.order, end, self.limits.target)
        if self.limits.is_reckoned:
            self.draft.watch()
            event.is_in_vain = self._prospect(window, end).is_in_vain
        event.hold(candidates_at(self.draft, window, self.limits, end))
        if self.limits.is_reckoned and (event.is_given_up or not self._is_worth_it(end, before)):
            self.draft.take_back()
            return False
        self.draft.changes = None
        self._is_changed = True
        self.event = event
        self._pool.refresh(self.draft)
        return True

    def _prospect(self, window: Window, end: int) -> Prospect:
        """What the event about to be held has to reach, and the most that it may come to."""
        limits, total, ledger = self.limits, self.draft.total, self._ledger
        write, read = limits.cache_write_multiplier, limits.cache_read_multiplier
        bars: list[Bar] = []
        if total <= limits.budget_tokens:
            bars.append(Bar(write + limits.cache_expected_calls * read, write - read))
        if self._is_bound(total):
            # The event has to make good what the session is short of without it.
            short = self._ledger_after(end, ledger.sent).shortfall(limits)
            bars.append(Bar(write, write - read, short))
        outsized = self._outsized_between(window.contracted_start, end)
        held = sum(self.draft.held([result], limits) + 1 for result in outsized)
        # Above the target one more result is trimmed; outsized ones are capped wherever it stands.
        to_target = max(held, total - limits.target + self._pool.most_held + 1)
        sent = ledger.sent - self._whole_totals[0]
        return Prospect(self.draft, tuple(bars), self._pool.held + held, to_target, ledger.end, sent)

    def _is_bound(self, total: int) -> bool:
        """Whether an event at a size of `total` has to keep to the ledger."""
        limits = self.limits
        return (
            limits.ledger_share is not None and not total > limits.ledger_ceiling * limits.budget_tokens > 0
        )

    def _is_worth_it(self, end: int, total: int) -> bool:
        """Whether the event just held at a size of `total` may stand."""
        limits = self.limits
        removed, shared = total - self.draft.total, self._shared(end)
        if total <= limits.budget_tokens and not pays_back(limits, removed, self._ledger.sent - shared):
            return False
        if limits.ledger_share is None or not self._is_bound(total):
            return True
        return self._ledger_after(end, shared).excess(limits) <= limits.ledger_share

    def _ledger_after(self, end: int, shared: int) -> Ledger:
        return self._ledger.after(end, self.draft.total, self._whole_totals[end], shared)

    def _shared(self, end: int) -> int:
        """What the call at `end` ships just as the call before it did (tokens)."""
        sent = self._ledger.end
        changed = (
            result.message
            for result in self.draft.results
            if result.message < sent and result.is_changed_at(end)
        )
        first = next(changed, None)
        if first is None:
            return self._ledger.sent
        return self._whole_totals[0] + self.draft.tokens_before(first)

    def _least_gain(self) -> float:
        return max(1, self.limits.min_tokens_saved, self.limits.min_gain * self.draft.total)

    def _gain(self, window: Window, end: int) -> int:
        """About what an event could remove (tokens): every open result at its deepest step."""
        return self._pool.tokens + sum(
            self.draft.could_remove([result], self.limits, is_cap=True)
            for result in self._outsized_between(window.contracted_start, end)
        )

    def _outsized_between(self, start: int, end: int) -> Iterator[DraftResult]:
        first = bisect_left(self._outsized, self.draft.tally.results_before[start])
        for index in self._outsized[first:]:
            result = self.draft.results[index]
            if result.message >= end:
                return
            if result.step is Step.WHOLE:
                yield result

    def _cap_fresh(self, fresh_start: int, end: int) -> None:
        if next(self._outsized_between(fresh_start, end), None) is None:
            return
        self.draft.own()
        self._is_changed = True
        for result in self._outsized_between(fresh_start, end):
            self.draft.cap(result, self.form_at(end), Reason.FRESH_OUTSIZED, end)
