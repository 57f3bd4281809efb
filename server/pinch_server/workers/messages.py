"""What a parent process and its workers say to each other: one JSON object a line."""

from typing import Any

import msgspec


class Orders(msgspec.Struct, tag="orders", frozen=True):
    """The first words to a worker.

    Attributes:
        index: Which of the workers it is, from 0.
        settings: All settings as plain data, secrets included: they go by this way alone.
        listen: Addresses to take calls on, the shared one first.
        journal_bytes: Its share of the journal's bound (bytes).
        numbers: Descriptor of the memory it counts in.
        layout: What the parent takes that memory to hold.
    """

    index: int
    settings: dict[str, Any]
    listen: list[str]
    journal_bytes: int
    numbers: int
    layout: str


class Ready(msgspec.Struct, tag="ready", frozen=True):
    """A worker takes calls."""


class Failed(msgspec.Struct, tag="failed", frozen=True):
    """A worker cannot start.

    Attributes:
        reason: Why, and what would mend it.
    """

    reason: str


class Stop(msgspec.Struct, tag="stop", frozen=True):
    """A worker is to finish its calls and end."""


Message = Orders | Ready | Failed | Stop
"""Anything that is said, either way."""
