"""Filters by a model: what it is told of a result's conversation, and how its program is run and judged."""

from dataclasses import dataclass, replace
from typing import Final

from pinch_server.core.counting import Counter
from pinch_server.core.extraction.classes import classify
from pinch_server.core.extraction.considered import Job
from pinch_server.core.extraction.form import Marking, extracted
from pinch_server.core.extraction.keep_ids import keep_ids
from pinch_server.extract.model import Model
from pinch_server.extract.outcome import FilterOptions, Refused, Written
from pinch_server.extract.prompts.context import ContextMode
from pinch_server.extract.prompts.conversation import told_text
from pinch_server.extract.sandbox import Sandbox
from pinch_server.extract.write_filter import write_filter

KEEP_MESSAGES: Final = 2
"""Newest messages that words to be kept are harvested from, whatever the prompt shows."""


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
        marking: What stands under an extracted result.
    """

    model: Model | None
    sandbox: Sandbox
    counter: Counter
    options: FilterOptions
    mode: ContextMode
    newest: int
    marking: Marking = Marking.FULL

    def write(self, job: Job, seconds: float) -> Written | Refused:
        """Shortens one result.

        Args:
            job: The result, and what it was called for.
            seconds: Time for all of it (seconds).
        """
        told = told_text(job.messages, self.mode, self.newest)
        # Of a class that filters remove little of, a mere window of it is no reduction.
        is_windowed = not classify(job.text).is_low_yield
        options = replace(
            self.options,
            seconds=min(self.options.seconds, seconds),
            max_chars=min(self.options.max_chars, job.aim_chars) if is_windowed else 0,
        )
        return write_filter(
            job.text,
            label=job.label,
            goal=_goal("" if job.shares_context else told, job.aim_chars),
            # A block of its own pays where several calls share it: the first writes what the others read.
            context=told if job.shares_context else "",
            keep=keep_ids(told_text(job.messages, ContextMode.RECENT, KEEP_MESSAGES)),
            model=self.model,
            sandbox=self.sandbox,
            options=options,
            seal=lambda projected, summary: extracted(
                job.text, projected, summary, job.reference, self.marking
            ),
            counter=self.counter,
        )


def _goal(context: str, aim_chars: int) -> str:
    """The conversation, and how long the rest may be to be of any use."""
    return f"{context}\n\n(OUTPUT is of use only when it has {aim_chars} characters or fewer.)"
