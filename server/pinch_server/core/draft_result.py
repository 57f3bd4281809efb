"""One tool result while its conversation is being trimmed, and which of its parts may be cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from pinch_server.core.conversation import ImagePart, Message, Part, TextPart, ToolResult
from pinch_server.core.images import is_image_note
from pinch_server.core.plan import Action, Reason
from pinch_server.core.trimming import Step


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
        stood: Its texts as they stood before the event that trimmed it last; None where none had before.
        images_event: Where it was decided that its images become notes; None while they are images.
        images_reason: Why.
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
    stood: Sequence[str] | None = None
    images_event: int | None = None
    images_reason: Reason = Reason.OUTSIDE_WINDOW

    @property
    def images(self) -> list[ImagePart]:
        """Its images that a text may replace."""
        return [p for p in self.value.parts if isinstance(p, ImagePart) and p.address is not None]

    @property
    def is_without_images(self) -> bool:
        """Whether its images have become notes."""
        return self.images_event is not None

    def is_changed_at(self, end: int) -> bool:
        """Whether anything of it was changed at the event before which `end` messages stand."""
        return self.images_event == end or (self.action is not None and self.event_message == end)

    def action_at(self, end: int) -> Action | None:
        """What was done at that event: where its texts were trimmed before, only its images were left out."""
        return self.action if self.event_message == end else Action.OMITTED

    def copy(self) -> "DraftResult":
        """The same, to be trimmed further."""
        return DraftResult(
            self.message,
            self.value,
            self.tool,
            self.originals,
            self.texts,
            self.whole_units,
            self.units,
            self.chars,
            self.step,
            self.action,
            self.reason,
            self.event_message,
            self.stood,
            self.images_event,
            self.images_reason,
        )


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
