"""One way to make a conversation fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Messages: TypeAlias = list[dict[str, Any]]
"""Chat messages as a body has them."""


@dataclass(frozen=True, slots=True)
class Pruner:
    """One way to make a conversation fit.

    Attributes:
        name: What the table calls it, its version included.
        prune: Takes messages it may keep, gives the messages to send.
        most_tokens: The largest conversation it is asked about (tokens).
        is_slow: Whether once is enough: it takes half a minute for a long session.
    """

    name: str
    prune: Callable[[Messages], Messages]
    most_tokens: int = 10_000_000
    is_slow: bool = False
