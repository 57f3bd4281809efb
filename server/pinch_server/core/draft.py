"""A conversation being trimmed: its size so far, and each result's texts as they stand."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from pinch_server.core.checkpoint import Checkpoint, TrimmedResult
from pinch_server.core.conversation import ImagePart, Message, TextPart
from pinch_server.core.counting import Counter
from pinch_server.core.draft_result import DraftResult, counted_texts, is_trimmable
from pinch_server.core.forms import Form, KeyedForm, own_step
from pinch_server.core.heard import Heard
from pinch_server.core.limits import PLAIN_KEPT_CHARS, Limits
from pinch_server.core.plan import Action, Edit, Reason
from pinch_server.core.tally import Tally
from pinch_server.core.trimming import Step

if TYPE_CHECKING:
    from pinch_server.core.standing import Standing

__all__ = ["Draft", "DraftResult", "counted_texts", "is_trimmable"]

_PLACEHOLDER_FRAME_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class Change:
    """How a result and its message stood before one change of theirs; the fields are theirs."""

    result: DraftResult
    total: int
    message_units: int
    message_images: int
    texts: Sequence[str]
    units: int
    step: Step
    action: Action | None
    reason: Reason
    event_message: int
    stood: Sequence[str] | None
    images_event: int | None
    images_reason: Reason

    def restore(self) -> None:
        """Gives the result back its fields."""
        result = self.result
        result.texts, result.units, result.step = self.texts, self.units, self.step
        result.action, result.reason = self.action, self.reason
        result.event_message = self.event_message
        result.stood = self.stood
        result.images_event, result.images_reason = self.images_event, self.images_reason


@dataclass(slots=True)
class Draft:
    """The size of a conversation under the edits so far.

    The size of a message is one floor over all its units, so an edit is weighed against its whole message.

    Attributes:
        counter: The estimate in force.
        units: What each message counts (units).
        images: What each message's images cost (tokens).
        total: What ships of the messages included so far, fixed tokens too (tokens).
        tally: The conversation as it came.
        included: Messages that are in the total.
        results: Every tool result, in the order of the conversation.
        changes: What was changed since `watch`; None while nobody watches.
        heard: What was read of it up to the newest event; None before the first.
    """

    counter: Counter
    units: "array[int]"
    images: "array[int]"
    total: int
    tally: Tally
    included: int = 0
    results: list[DraftResult] = field(default_factory=list)
    changes: list[Change] | None = None
    heard: Heard | None = None
    _is_whole: bool = True
    _is_owner: bool = False
    _came: dict[int, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, messages: Sequence[Message], counter: Counter, fixed_tokens: int) -> "Draft":
        """The draft in which nothing is trimmed and nothing included yet."""
        draft = cls.on(Tally.of(messages, counter), fixed_tokens)
        draft.own()
        return draft

    @classmethod
    def on(cls, tally: Tally, fixed_tokens: int) -> "Draft":
        """The same over a tally that others may hold too: call `own` before anything is trimmed."""
        return cls(tally.counter, tally.units, tally.images, fixed_tokens, tally, results=tally.results)

    def own(self) -> None:
        """Makes this draft's sizes and results its own, to be trimmed; again, it does nothing."""
        if not self._is_owner:
            self.units, self.images = self.units[:], self.images[:]
            self.results = [result.copy() for result in self.results]
            self._is_owner = True
            self._is_whole = False

    def resume(self, standing: "Standing") -> None:
        """Takes up where an earlier call of the same session left off, by the very lists that it left."""
        tally, end = self.tally, standing.end
        first = tally.results_before[end]
        self.units = standing.units[:end] + tally.units[end:]
        self.images = standing.images[:end] + tally.images[end:]
        self.results = standing.results[:first] + tally.results[first:]
        self.total, self.included, self.heard = standing.total, end, standing.heard
        self._is_whole = self._is_owner = False

    def copy(self) -> "Draft":
        """A draft to try things on."""
        return replace(
            self,
            units=self.units[:],
            images=self.images[:],
            changes=None,
            results=[result.copy() for result in self.results],
            _is_whole=False,
            _is_owner=True,
        )

    def watch(self) -> None:
        """Keeps what is changed from here on, so that it can be taken back."""
        self.changes = []

    @property
    def newest_change(self) -> Change | None:
        """What was changed last since it was watched."""
        return self.changes[-1] if self.changes else None

    def take_back(self) -> None:
        """Undoes all that was changed since it was watched."""
        for change in reversed(self.changes or []):
            self.total = change.total
            self.units[change.result.message] = change.message_units
            self.images[change.result.message] = change.message_images
            change.restore()
        self.changes = None

    def revert(self, change: Change) -> None:
        """Undoes the newest change of a result's texts, whatever was changed elsewhere since."""
        tokens, message = self.counter.tokens, change.result.message
        before = self.units[message]
        self.units[message] += change.units - change.result.units
        self.total += tokens(self.units[message]) - tokens(before)
        change.restore()

    def totals(self) -> list[int]:
        """What ships before each message and before the end, fixed tokens included (tokens)."""
        if self._is_whole and not self.included:
            return [self.total + tokens for tokens in self.tally.totals]
        tokens = self.counter.tokens
        sizes = (tokens(units) + images for units, images in zip(self.units, self.images, strict=True))
        return list(accumulate(sizes, initial=self.total))

    def tokens_before(self, message: int) -> int:
        """What the messages before one ship, nothing beside them (tokens)."""
        tokens = self.counter.tokens
        return sum(tokens(self.units[index]) + self.images[index] for index in range(message))

    def checkpoint(self) -> Checkpoint:
        """What has been trimmed so far."""
        return Checkpoint(
            tuple(
                TrimmedResult(
                    index,
                    tuple(result.texts),
                    result.units,
                    result.step,
                    result.action,
                    result.reason,
                    result.event_message,
                    result.images_event,
                    result.images_reason,
                )
                for index, result in enumerate(self.results)
                if result.step is not Step.WHOLE or result.action is not None
            )
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Takes up where a checkpoint of the same conversation left off; nothing may be trimmed yet."""
        self.own()
        for done in checkpoint.trimmed:
            result = self.results[done.index]
            units = done.units - result.units
            if done.images_event is not None:
                units += sum(self.counter.units([image.description for image in result.images]))
                self.images[result.message] -= sum(image.tokens for image in result.images)
            self.units[result.message] += units
            result.texts, result.units, result.step = done.texts, done.units, done.step
            result.action, result.reason, result.event_message = done.action, done.reason, done.event_message
            result.images_event, result.images_reason = done.images_event, done.images_reason

    def whole_total(self) -> int:
        """What all of it would ship now, fixed tokens included (tokens)."""
        if self._is_whole:
            return self.total + self.tally.totals[-1] - self.tally.totals[self.included]
        rest = range(self.included, len(self.units))
        return self.total + sum(self.counter.tokens(self.units[m]) + self.images[m] for m in rest)

    def include(self, end: int) -> None:
        """Takes the messages up to `end` into the total."""
        if self._is_whole and end > self.included:
            self.total += self.tally.totals[end] - self.tally.totals[self.included]
            self.included = end
            return
        for index in range(self.included, end):
            self.total += self.counter.tokens(self.units[index]) + self.images[index]
        self.included = max(self.included, end)

    def cap(self, result: DraftResult, form: Form, reason: Reason, event_message: int) -> bool:
        """Elides an outsized result although it is protected."""
        return self._trim(result, form, Step.ELIDED, Action.CAPPED, reason, event_message)

    def take_first_step(
        self, result: DraftResult, form: Form, max_summarize_chars: int, reason: Reason, event_message: int
    ) -> bool:
        """Elides a whole result when long, else puts a placeholder in its place; errors never get one."""
        if result.chars > max_summarize_chars:
            return self._trim(result, form, Step.ELIDED, Action.ELIDED, reason, event_message)
        if result.value.is_error or self._step_of(result, form) is not Step.WHOLE:
            return False
        return self._trim(result, form, Step.OMITTED, Action.OMITTED, reason, event_message)

    def take_second_step(self, result: DraftResult, form: Form, reason: Reason, event_message: int) -> bool:
        """Puts a placeholder in the place of a result that was elided here; errors never get one.

        What came in as an excerpt stays one: a placeholder made of it would count what is not the original.
        """
        if result.value.is_error or self._step_of(result, form) is not Step.ELIDED:
            return False
        if list(result.texts) == list(result.originals):
            return False
        return self._trim(result, form, Step.OMITTED, Action.OMITTED, reason, event_message)

    def take_both_steps(
        self, result: DraftResult, form: KeyedForm, limits: Limits, reason: Reason, event_message: int
    ) -> bool:
        """Puts a placeholder in the place of a long result that would be elided first.

        Only where it is certain that both steps would be taken; else nothing is done.
        """
        if result.value.is_error or result.chars <= limits.max_summarize_chars:
            return False
        if self._step_of(result, form) is not Step.WHOLE or not self.counter.counts_chars:
            return False
        tokens, lengths = self.counter.tokens, form.excerpt_chars(result.originals)
        if lengths is None or tokens(result.units - lengths[1]) < 1:
            return False
        texts = form.omit(result.tool, result.originals)
        if tokens(lengths[0] - sum(map(len, texts))) < 1:
            return False
        return self._put(result, texts, Step.OMITTED, Action.OMITTED, reason, event_message)

    def _step_of(self, result: DraftResult, form: Form) -> Step:
        """How far a result is: as far as it was trimmed, or as its own shape says."""
        if result.action is None and result.step is Step.WHOLE:
            result.step = form.step_of(result.tool, result.originals)
        return result.step

    def _trim(
        self, result: DraftResult, form: Form, step: Step, action: Action, reason: Reason, event_message: int
    ) -> bool:
        if step <= self._step_of(result, form):
            return False
        if step is Step.ELIDED:
            texts = form.elide(result.originals)
        else:
            texts = form.omit(result.tool, result.originals)
        return self._put(result, texts, step, action, reason, event_message)

    def _put(
        self,
        result: DraftResult,
        texts: Sequence[str],
        step: Step,
        action: Action,
        reason: Reason,
        event_message: int,
    ) -> bool:
        units = sum(self.counter.units(texts))
        if not self._resize(result, units - result.units, 0):
            return False
        if result.step is not Step.WHOLE and result.event_message != event_message:
            result.stood = result.texts
        result.texts, result.units, result.step = texts, units, step
        result.action, result.reason, result.event_message = action, reason, event_message
        return True

    def could_remove(self, results: Sequence[DraftResult], limits: Limits, *, is_cap: bool = False) -> int:
        """About what the deepest step of results of one message would remove (tokens), by their lengths."""
        tokens = self.counter.tokens
        units = images = 0
        for result in results:
            left = _least_chars(result, limits, is_cap=is_cap)
            if result.chars and left < result.chars and not self._came_trimmed(result, limits):
                units += max(0, result.units - result.whole_units * left // result.chars)
            if limits.omit_images and not is_cap and not result.is_without_images:
                images += sum(image.tokens for image in result.images)
        before = self.units[results[0].message]
        return tokens(before) - tokens(before - units) + images

    def _came_trimmed(self, result: DraftResult, limits: Limits) -> bool:
        """Whether a result came with the shape of a trimmed one: its texts stay as they are."""
        if result.units < result.whole_units:
            return False
        known = self._came.get(id(result.originals))
        if known is None:
            step = result.step or own_step(limits.trim_style, result.tool, result.originals)
            known = self._came[id(result.originals)] = step is not Step.WHOLE
        return known

    def held(self, results: Sequence[DraftResult], limits: Limits) -> int:
        """No less than what trimming could still remove of results of one message (tokens)."""
        tokens = self.counter.tokens
        units = images = 0
        for result in results:
            if result.step < _deepest(result, limits):
                units += result.units
            if limits.omit_images and not result.is_without_images:
                images += sum(image.tokens for image in result.images)
        before = self.units[results[0].message]
        return tokens(before) - tokens(before - units) + images

    def omit_images(self, result: DraftResult, reason: Reason, event_message: int) -> bool:
        """Replaces the images of a result by notes, where that makes it smaller."""
        images = result.images
        if not images or result.is_without_images:
            return False
        note_units = sum(self.counter.units([image.description for image in images]))
        if not self._resize(result, note_units, -sum(image.tokens for image in images)):
            return False
        result.images_event, result.images_reason = event_message, reason
        if result.action is None:
            result.action, result.reason, result.event_message = Action.OMITTED, reason, event_message
        return True

    def _resize(self, result: DraftResult, units: int, image_tokens: int) -> bool:
        """Changes the size of a result's message if that saves a token at least; says whether it did.

        What is saved is weighed by itself, not by the floor of its message, so that no edit hangs on another.
        """
        tokens = self.counter.tokens
        saved = tokens(-units) if units < 0 else -tokens(units) - 1
        if saved - image_tokens < 1:
            return False
        message = result.message
        old = self.units[message]
        if self.changes is not None:
            self.changes.append(self._change(result))
        self.units[message] = old + units
        self.images[message] += image_tokens
        self.total += tokens(old + units) - tokens(old) + image_tokens
        return True

    def _change(self, result: DraftResult) -> Change:
        return Change(
            result,
            self.total,
            self.units[result.message],
            self.images[result.message],
            result.texts,
            result.units,
            result.step,
            result.action,
            result.reason,
            result.event_message,
            result.stood,
            result.images_event,
            result.images_reason,
        )

    def edits(self, end: int) -> list[Edit]:
        """Every changed part, in the order of the conversation; new ones are those decided at `end`."""
        edits: list[Edit] = []
        for result in self.results:
            if result.action is not None:
                edits.extend(self._edits_of(result, result.action, end))
        return edits

    def _edits_of(self, result: DraftResult, action: Action, end: int) -> list[Edit]:
        def size(text: str) -> int:
            return self.counter.tokens(self.counter.units([text])[0])

        def edit(
            old: TextPart | ImagePart,
            new: str,
            before: int,
            done: Action,
            reason: Reason,
            event: int,
            gone: int,
        ) -> Edit:
            return Edit(
                message=result.message,
                block=result.value.block,
                tool=result.tool,
                old=old,
                new=new,
                action=done,
                reason=reason,
                event_message=event,
                is_new=event == end,
                tokens_before=before,
                tokens_after=size(new),
                removed_before=gone if event == end else 0,
            )

        edits: list[Edit] = []
        texts = zip(result.texts, result.stood or result.originals, strict=True)
        for part in result.value.parts:
            if isinstance(part, ImagePart):
                if result.images_event is not None and part.address is not None:
                    by = Action.OMITTED, result.images_reason, result.images_event
                    edits.append(edit(part, part.description, part.tokens, *by, 0))
            elif is_trimmable(part):
                new, stood = next(texts)
                if new != part.text:
                    by, before = (action, result.reason, result.event_message), size(part.text)
                    gone = before - size(stood) if stood is not part.text else 0
                    edits.append(edit(part, new, before, *by, gone))
        return edits


def _deepest(result: DraftResult, limits: Limits) -> Step:
    """How far a result may be trimmed."""
    is_long = result.chars > limits.max_summarize_chars
    if result.value.is_error or (is_long and not limits.trim_style.has_second_step):
        return Step.ELIDED
    return Step.OMITTED


def _least_chars(result: DraftResult, limits: Limits, *, is_cap: bool) -> int:
    """About how short the deepest step leaves a result (characters)."""
    if is_cap or (result.chars > limits.max_summarize_chars and not limits.trim_style.has_second_step):
        return PLAIN_KEPT_CHARS
    if result.value.is_error:
        return PLAIN_KEPT_CHARS if result.chars > limits.max_summarize_chars else result.chars
    # A list never takes more than half of what it hides.
    listed = min(limits.placeholder_chars, result.chars // 2) if limits.trim_style.has_second_step else 0
    return _PLACEHOLDER_FRAME_CHARS + listed
