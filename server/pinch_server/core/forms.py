"""The forms a trimmed tool result can take, behind one face: plain, the original, and keyed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pinch_server.core import keyed, trimming
from pinch_server.core.echoes import Echo
from pinch_server.core.extraction.form import is_extracted
from pinch_server.core.keyed import Weigh
from pinch_server.core.limits import TrimStyle
from pinch_server.core.trimming import Step


class Form(Protocol):
    """How the texts of one result are shortened. Every function gives as many texts back as it takes."""

    @property
    def has_second_step(self) -> bool:
        """Whether an elided result may become a placeholder later."""
        ...

    def step_of(self, tool: str, texts: Sequence[str]) -> Step:
        """How far texts already are by their own shape."""
        ...

    def elide(self, texts: Sequence[str]) -> list[str]:
        """The texts with their middle left out."""
        ...

    def omit(self, tool: str, texts: Sequence[str]) -> list[str]:
        """A placeholder in their place."""
        ...


def own_step(style: TrimStyle, tool: str, texts: Sequence[str]) -> Step:
    """How far the texts of one result already are by their own shape, to whoever trims in a style."""
    if is_extracted(texts):
        return Step.ELIDED
    return keyed.step_of(tool, texts) if style is TrimStyle.KEYED else trimming.step_of(tool, texts)


@dataclass(frozen=True, slots=True)
class PlainForm:
    """Head and tail around a marker, or a bare placeholder: the original."""

    has_second_step: bool = False

    def step_of(self, tool: str, texts: Sequence[str]) -> Step:
        """How far texts already are by their own shape."""
        return own_step(TrimStyle.PLAIN, tool, texts)

    def elide(self, texts: Sequence[str]) -> list[str]:
        """The texts with their middle left out."""
        return trimming.elide(texts)

    def omit(self, tool: str, texts: Sequence[str]) -> list[str]:
        """A placeholder in their place."""
        return trimming.omit(tool, texts)


@dataclass(frozen=True, slots=True)
class KeyedForm:
    """Head, the pieces most worth their length, and tail; or a placeholder that lists identifiers.

    Attributes:
        weigh: What an identifier is worth at this event.
        echo: The words of a text that were said lately.
        placeholder_chars: How long a placeholder's list may be (characters).
    """

    weigh: Weigh
    echo: Echo
    placeholder_chars: int
    has_second_step: bool = True

    def step_of(self, tool: str, texts: Sequence[str]) -> Step:
        """How far texts already are by their own shape."""
        return own_step(TrimStyle.KEYED, tool, texts)

    def elide(self, texts: Sequence[str]) -> list[str]:
        """The texts with their middle left out."""
        return keyed.elide(texts, self.weigh, self.echo)

    def omit(self, tool: str, texts: Sequence[str]) -> list[str]:
        """A placeholder in their place."""
        return keyed.omit(tool, texts, self.weigh, self.placeholder_chars)

    def excerpt_chars(self, texts: Sequence[str]) -> tuple[int, int] | None:
        """The least and the most characters of an excerpt; None where only making it tells."""
        return keyed.excerpt_chars(texts)


FormAt = Callable[[int], Form]
"""The form in force at an event, by the number of messages before it."""
