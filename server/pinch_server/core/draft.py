"""A conversation being trimmed: its size so far, and each result's texts as they stand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final, TypeGuard

from pinch_server.core.checkpoint import Checkpoint, TrimmedResult
from pinch_server.core.conversation import ImagePart, Message, Part, TextPart, ToolResult, tool_names
from pinch_server.core.counting import Counter
from pinch_server.core.forms import Form
from pinch_server.core.images import is_image_note
from pinch_server.core.limits import PLAIN_KEPT_CHARS, Limits
from pinch_server.core.plan import Action, Edit, Reason
from pinch_server.core.trimming import Step

_PLACEHOLDER_FRAME_CHARS: Final = 40


@dataclass(slots=True)
class DraftResult:
    """One tool result and how far it has been trimmed.

    Attributes:
        message: Index of its message.
        value: The result as it came.
        tool: Its tool's name, resolved.
        originals: Its texts as they came.
        texts: Its texts as they stand now.
        whole_units: What its texts counted as they came (units).
        units: What they count now (units).
        chars: The characters they came with.
        step: How far it has been trimmed.
        action: What was done last; None while nothing was.
        reason: Why.
        event_message: Where that was decided.
        is_without_images: Whether its images have become notes.
    """

    message: int
    value: ToolResult
    tool: str
    originals: Sequence[str]
    texts: Sequence[str]
    whole_units: int
    units: int
    chars: int
    step: Step = Step.WHOLE
    action: Action | None = None
    reason: Reason = Reason.OUTSIDE_WINDOW
    event_message: int = 0
    is_without_images: bool = False

    @property
    def images(self) -> list[ImagePart]:
        """Its images that a text may replace."""
        return [p for p in self.value.parts if isinstance(p, ImagePart) and p.address is not None]


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
    is_without_images: bool


@dataclass(slots=True)
class Draft:
    """The size of a conversation under the edits so far.

    The size of a message is one floor over all its units, so an edit is weighed against its whole message.

    Attributes:
        counter: The estimate in force.
        units: What each message counts (units).
        images: What each message's images cost (tokens).
        total: What ships of the messages included so far, fixed tokens too (tokens).
        included: Messages that are in the total.
        results: Every tool result, in the order of the conversation.
        changes: What was changed since `watch`; None while nobody watches.
    """

    counter: Counter
    units: list[int]
    images: list[int]
    total: int
    included: int = 0
    results: list[DraftResult] = field(default_factory=list)
    changes: list[Change] | None = None

    @classmethod
    def of(cls, messages: Sequence[Message], counter: Counter, fixed_tokens: int) -> "Draft":
        """The draft in which nothing is trimmed and nothing included yet."""
        sizes = iter(counter.units(list(counted_texts(messages))))
        units: list[int] = []
        images: list[int] = []
        results: list[DraftResult] = []
        names = tool_names(messages)
        for index, message in enumerate(messages):
            size = sum(next(sizes) for _ in message.fixed)
            image_tokens = message.image_tokens
            for result, tool in zip(message.results, names[index], strict=True):
                texts: list[str] = []
                editable = 0
                for part in result.parts:
                    if is_trimmable(part):
                        texts.append(part.text)
                        editable += next(sizes)
                    elif isinstance(part, ImagePart):
                        image_tokens += part.tokens
                    else:
                        size += next(sizes)
                size += editable
                results.append(
                    DraftResult(index, result, tool, texts, texts, editable, editable, sum(map(len, texts)))
                )
            units.append(size)
            images.append(image_tokens)
        return cls(counter, units, images, fixed_tokens, results=results)

    def copy(self) -> "Draft":
        """A draft to try things on."""
        return replace(
            self,
            units=list(self.units),
            images=list(self.images),
            results=[replace(result) for result in self.results],
            changes=None,
        )

    def watch(self) -> None:
        """Keeps what is changed from here on, so that it can be taken back."""
        self.changes = []

    def take_back(self) -> None:
        """Undoes all that was changed since it was watched."""
        for change in reversed(self.changes or []):
            result, message = change.result, change.result.message
            self.total = change.total
            self.units[message], self.images[message] = change.message_units, change.message_images
            result.texts, result.units, result.step = change.texts, change.units, change.step
            result.action, result.reason = change.action, change.reason
            result.event_message = change.event_message
            result.is_without_images = change.is_without_images
        self.changes = None

    def totals(self) -> list[int]:
        """What ships before each message and before the end, fixed tokens included (tokens)."""
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
                    result.is_without_images,
                )
                for index, result in enumerate(self.results)
                if result.action is not None
            )
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Takes up where a checkpoint of the same conversation left off; nothing may be trimmed yet."""
        for done in checkpoint.trimmed:
            result = self.results[done.index]
            units = done.units - result.units
            if done.is_without_images:
                units += sum(self.counter.units([image.description for image in result.images]))
                self.images[result.message] -= sum(image.tokens for image in result.images)
            self.units[result.message] += units
            result.texts, result.units, result.step = done.texts, done.units, done.step
            result.action, result.reason, result.event_message = done.action, done.reason, done.event_message
            result.is_without_images = done.is_without_images

    def whole_total(self) -> int:
        """What all of it would ship now, fixed tokens included (tokens)."""
        rest = range(self.included, len(self.units))
        return self.total + sum(self.counter.tokens(self.units[m]) + self.images[m] for m in rest)

    def include(self, end: int) -> None:
        """Takes the messages up to `end` into the total."""
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
        units = sum(self.counter.units(texts))
        if not self._resize(result, units - result.units, 0):
            return False
        result.texts, result.units, result.step = texts, units, step
        result.action, result.reason, result.event_message = action, reason, event_message
        return True

    def could_remove(self, results: Sequence[DraftResult], limits: Limits, *, is_cap: bool = False) -> int:
        """About what the deepest step of results of one message would remove (tokens), by their lengths."""
        tokens = self.counter.tokens
        units = images = 0
        for result in results:
            left = _least_chars(result, limits, is_cap=is_cap)
            if result.chars and left < result.chars:
                units += max(0, result.units - result.whole_units * left // result.chars)
            if limits.omit_images and not is_cap and not result.is_without_images:
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
        result.is_without_images = True
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
            result.is_without_images,
        )

    def edits(self, end: int) -> list[Edit]:
        """Every changed part, in the order of the conversation; new ones are those decided at `end`."""
        edits: list[Edit] = []
        for result in self.results:
            if result.action is not None:
                edits.extend(self._edits_of(result, result.action, end))
        return edits

    def _edits_of(self, result: DraftResult, action: Action, end: int) -> list[Edit]:
        counter = self.counter

        def edit(old: TextPart | ImagePart, new: str, before: int, done: Action) -> Edit:
            return Edit(
                message=result.message,
                block=result.value.block,
                tool=result.tool,
                old=old,
                new=new,
                action=done,
                reason=result.reason,
                event_message=result.event_message,
                is_new=result.event_message == end,
                tokens_before=before,
                tokens_after=counter.tokens(counter.units([new])[0]),
            )

        edits: list[Edit] = []
        texts = iter(result.texts)
        for part in result.value.parts:
            if isinstance(part, ImagePart):
                if result.is_without_images and part.address is not None:
                    edits.append(edit(part, part.description, part.tokens, Action.OMITTED))
            elif is_trimmable(part):
                new = next(texts)
                if new != part.text:
                    edits.append(edit(part, new, counter.tokens(counter.units([part.text])[0]), action))
        return edits


def is_trimmable(part: Part) -> TypeGuard[TextPart]:
    """Whether a part is a text that may be cut: a note in place of an image is not, it is short already."""
    return isinstance(part, TextPart) and not is_image_note(part.text)


def counted_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Every text that ships, in the order in which a draft adds them up."""
    for message in messages:
        yield from message.fixed
        for result in message.results:
            for part in result.parts:
                if not isinstance(part, ImagePart):
                    yield part.text


def _least_chars(result: DraftResult, limits: Limits, *, is_cap: bool) -> int:
    """About how short the deepest step leaves a result (characters)."""
    if is_cap or (result.chars > limits.max_summarize_chars and not limits.trim_style.has_second_step):
        return PLAIN_KEPT_CHARS
    if result.value.is_error:
        return PLAIN_KEPT_CHARS if result.chars > limits.max_summarize_chars else result.chars
    return _PLACEHOLDER_FRAME_CHARS + (limits.placeholder_chars if limits.trim_style.has_second_step else 0)
