"""Which model answers: the cheapest whose context holds the prompt, or the strongest for a hard turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pinch import Measured

_HARD_WORDS = frozenset({"architecture", "debug", "prove", "refactor"})


@dataclass(frozen=True, slots=True)
class Model:
    """A model that the upstream serves.

    Attributes:
        name: Its name in a request.
        context_tokens: The longest prompt that it takes.
    """

    name: str
    context_tokens: int


def pick(models: Sequence[Model], measured: Measured | None, turn: str) -> Model | None:
    """The model for a prompt, or None when it fits none.

    Args:
        models: What there is, the cheapest first and the strongest last.
        measured: The service's estimate of the prompt; None when it could not be asked.
        turn: The newest user turn.
    """
    if measured is None:  # nothing is known about the size, so the largest has the best chance
        return max(models, key=lambda model: model.context_tokens)
    fitting = [model for model in models if model.context_tokens >= most_tokens(measured)]
    if not fitting:
        return None
    return fitting[-1] if _HARD_WORDS & set(turn.lower().split()) else fitting[0]


def most_tokens(measured: Measured) -> float:
    """The most tokens that a prompt may truly have, by the estimate's error bound."""
    return measured.tokens / (1 - measured.error_bound) if measured.error_bound < 1 else math.inf
