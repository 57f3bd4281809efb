"""What a result reveals and a later call can take up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bench.conversations.dice import Dice

Kind: TypeAlias = Literal["path", "symbol", "line", "commit", "record", "request", "test"]


@dataclass(frozen=True, slots=True)
class Lead:
    """One thing found in a result: ``value`` stands in its text; ``where`` is its file's path, or empty."""

    kind: Kind
    value: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """A tool's output and the leads in it."""

    text: str
    leads: tuple[Lead, ...] = ()
    is_error: bool = False


def some(dice: Dice, leads: Sequence[Lead], count: int = 10) -> tuple[Lead, ...]:
    """At most ``count`` of ``leads``: a reader takes up few of the things that a long result holds."""
    return tuple(dice.several(leads[:400], count))
