"""What a parent process and its workers say to each other: one JSON object a line."""

from typing import Any

import msgspec


class Orders(msgspec.Struct, tag="orders", frozen=True):
    """The first words to a worker.

    Attributes:
        index: Which of the workers it is, from 0.
        settings: All settings as plain data, secrets included: they go by this way alone.
        listen: Addresses to take calls on, the shared one first.
        mouths: Address of the HTTP endpoints for gateways; empty where there are none.
        journal_bytes: Its share of the journal's bound (bytes).
        numbers: Descriptor of the memory it counts in.
        layout: What the parent takes that memory to hold.
        sources: Where the value of each setting came from.
        knobs: The runtime knobs that were turned so far.
    """

    index: int
    settings: dict[str, Any]
    listen: list[str]
    mouths: str
    journal_bytes: int
    numbers: int
    layout: str
    sources: dict[str, str]
    knobs: dict[str, bool]


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


class Ask(msgspec.Struct, tag="ask", frozen=True):
    """A worker's caller wants knobs turned, in every worker.

    Attributes:
        number: Tells a worker's questions apart.
        knobs: The knobs to turn.
        persist: Whether they stay turned after the next start.
    """

    number: int
    knobs: dict[str, bool]
    persist: bool


class Turn(msgspec.Struct, tag="turn", frozen=True):
    """A worker is to have its knobs like this.

    Attributes:
        version: Rises with each change.
        knobs: All knobs that were turned so far.
    """

    version: int
    knobs: dict[str, bool]


class Turned(msgspec.Struct, tag="turned", frozen=True):
    """A worker has its knobs as they were at some version."""

    version: int


class Answer(msgspec.Struct, tag="answer", frozen=True):
    """What became of a question.

    Attributes:
        number: The question's.
        problem: Why the knobs were not turned; empty when every worker has them.
    """

    number: int
    problem: str


Message = Orders | Ready | Failed | Stop | Ask | Turn | Turned | Answer
"""Anything that is said, either way."""
