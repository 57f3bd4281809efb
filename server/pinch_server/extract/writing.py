"""Filters by a model: what it is told of a result's conversation, and how its program is run and judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pinch_server.core.conversation import Message, Speaker, TextPart
from pinch_server.core.counting import Counter
from pinch_server.core.extraction.considered import Job
from pinch_server.core.extraction.keep_ids import keep_ids
from pinch_server.core.extraction.marker import Marker
from pinch_server.core.turn_frame import readable_text
from pinch_server.extract.model import Model
from pinch_server.extract.outcome import FilterOptions, Refused, Written
from pinch_server.extract.prompts.context import ContextMode, Said, context_text
from pinch_server.extract.sandbox import Sandbox
from pinch_server.extract.write_filter import write_filter

KEEP_MESSAGES: Final = 2
"""Newest messages that words to be kept are harvested from, whatever the prompt shows."""
# The line under a result is the service's own, whose shape is known again.
_NO_MARKER: Final = Marker(is_shown=False)
_ROLES: Final = {Speaker.USER: "user", Speaker.MODEL: "assistant", Speaker.TOOL: "tool"}


@dataclass(frozen=True, slots=True)
class FilterWriter:
    """Writes filters. Shared by threads.

    Attributes:
        model: Answers prompts; None where results are shortened without one.
        sandbox: Runs programs.
        counter: The estimate in force.
        options: How results are filtered.
        mode: How much of a conversation the model is shown.
        newest: How many of its newest messages.
    """

    model: Model | None
    sandbox: Sandbox
    counter: Counter
    options: FilterOptions
    mode: ContextMode
    newest: int

    def write(self, job: Job, seconds: float) -> Written | Refused:
        """Shortens one result.

        Args:
            job: The result, and what it was called for.
            seconds: Time for all of it (seconds).
        """
        said = said_of(job.messages)
        options = replace(
            self.options,
            seconds=min(self.options.seconds, seconds),
            max_chars=min(self.options.max_chars, job.aim_chars),
        )
        return write_filter(
            job.text,
            label=job.label,
            goal=_goal(context_text(said, self.mode, self.newest), job.aim_chars),
            # A block of its own pays where several calls share it; each result here is a call by itself.
            context="",
            keep=keep_ids(context_text(said, ContextMode.RECENT, KEEP_MESSAGES)),
            model=self.model,
            sandbox=self.sandbox,
            options=options,
            marker=_NO_MARKER,
            counter=self.counter,
        )


def said_of(messages: Sequence[Message]) -> list[Said]:
    """A conversation in the words of a prompt."""
    return [Said(_ROLES.get(message.speaker, "other"), _text(message)) for message in messages]


def _text(message: Message) -> str:
    parts = (part for result in message.results for part in result.parts)
    results = (part.text for part in parts if isinstance(part, TextPart))
    return "\n".join(text for text in (readable_text(message), *results) if text)


def _goal(context: str, aim_chars: int) -> str:
    """The conversation, and how long the rest may be to be of any use."""
    return f"{context}\n\n(OUTPUT is of use only when it has {aim_chars} characters or fewer.)"
