"""What a keyed form made of each result last: an event that is tried again and again makes little anew.

An event that is taken back is tried again at a later point. By then most identifiers are worth what they
were, and of the same texts and the same worth a form makes the same texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pinch_server.core.forms import KeyedForm
from pinch_server.core.trimming import Step


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of a result once.

    Attributes:
        texts: Its texts as they came; held, so that their `id` stays theirs.
        signs: What the form went by beside them.
        made: The texts in their place.
    """

    texts: Sequence[str]
    signs: list[bytes]
    made: list[str]


@dataclass(slots=True)
class Attempts:
    """What the events of one conversation found and made so far.

    Attributes:
        made: By the `id` of a result's texts and the step.
        steps: How far results came in, by the `id` of their texts and the tool; the texts beside it.
    """

    made: dict[tuple[int, Step], Made] = field(default_factory=dict)
    steps: dict[tuple[int, str], tuple[Sequence[str], Step]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retried:
    """The keyed form at one event, with what it made at earlier ones.

    Attributes:
        form: The form at this event.
        attempts: What earlier events found and made.
    """

    form: KeyedForm
    attempts: Attempts
    has_second_step: bool = True

    def step_of(self, tool: str, texts: Sequence[str]) -> Step:
        """How far texts already are by their own shape."""
        known = self.attempts.steps.get((id(texts), tool))
        if known is None:
            known = texts, self.form.step_of(tool, texts)
            self.attempts.steps[id(texts), tool] = known
        return known[1]

    def elide(self, texts: Sequence[str]) -> list[str]:
        """The texts with their middle left out."""
        return self._made(Step.ELIDED, texts, lambda form: form.elide(texts))

    def omit(self, tool: str, texts: Sequence[str]) -> list[str]:
        """A placeholder in their place."""
        return self._made(Step.OMITTED, texts, lambda form: form.omit(tool, texts))

    def _made(self, step: Step, texts: Sequence[str], make: Callable[[KeyedForm], list[str]]) -> list[str]:
        weighed = {text: self.form.weigh(text) for text in texts}
        # A placeholder lists identifiers alone.
        echoes = {text: self.form.echo(text) for text in texts if step is Step.ELIDED}
        signs = [*(one.sign for one in weighed.values()), *(one.sign for one in echoes.values())]
        known = self.attempts.made.get((id(texts), step))
        if known is not None and known.signs == signs:
            return known.made
        made = make(KeyedForm(weighed.__getitem__, echoes.__getitem__, self.form.placeholder_chars))
        self.attempts.made[id(texts), step] = Made(texts, signs, made)
        return made
