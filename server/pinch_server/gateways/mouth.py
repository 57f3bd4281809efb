"""What an HTTP mouth is: how one kind of gateway asks, and how it is answered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pinch_server.core.limits import Violation
from pinch_server.decide import Decided, PruneCall


@dataclass(frozen=True, slots=True)
class Answer:
    """What a gateway is answered.

    Attributes:
        body: The bytes, JSON; empty for none.
        status: HTTP status code.
        headers: Further headers.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """What a gateway asks, read.

    Attributes:
        call: The call that it comes to.
        answer: Makes the answer to the decision.
    """

    call: PruneCall
    answer: Callable[[Decided], Answer]


@dataclass(frozen=True, slots=True)
class Leave:
    """A request that is left alone.

    Attributes:
        reason: Why, as a slug.
        violations: What was wrong with it; empty when nothing was.
    """

    reason: str
    violations: tuple[Violation, ...] = ()


class Mouth(Protocol):
    """One kind of gateway."""

    @property
    def name(self) -> str:
        """What settings and metrics call it."""
        ...

    @property
    def path(self) -> str:
        """The path of its endpoint."""
        ...

    def read(self, body: bytes, headers: Mapping[str, str]) -> Question | Leave:
        """Reads a request; whatever it holds, an answer that changes nothing can follow.

        Args:
            body: The bytes that were posted.
            headers: The headers, by their names in lower case.
        """
        ...

    def unchanged(self, left: Leave, body: bytes) -> Answer:
        """The answer on which the gateway goes on with what it has.

        Args:
            left: Why.
            body: The bytes that were posted; empty where they were too many to be read.
        """
        ...
