"""What is asked of the use case, and what it answers."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pinch_server.core.conversation import Conversation
from pinch_server.core.extraction.considered import Considering
from pinch_server.core.limits import Violation
from pinch_server.core.plan import Edit, Stats
from pinch_server.core.pricing import NOTHING_KNOWN, CacheContext, Economics
from pinch_server.core.probe import PrefixMatch
from pinch_server.core.turn_frame import TurnFrame
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import ByteEdit
from pinch_server.formats.recent import History
from pinch_server.formats.worked import NOTHING_WORKED, Worked
from pinch_server.ports import WhenGone


class InvalidCallError(Exception):
    """The caller's fault: fields of the call break their bounds.

    Attributes:
        violations: Every one of them.
    """

    def __init__(self, violations: tuple[Violation, ...]) -> None:
        super().__init__("; ".join(map(str, violations)))
        self.violations = violations


@dataclass(frozen=True, slots=True)
class Body:
    """A provider's request JSON.

    Attributes:
        json: The bytes as they came.
        format: Their dialect; None to recognise it.
    """

    json: bytes
    format: Format | None = None


@dataclass(frozen=True, slots=True)
class CallContext:
    """What the router knows about the call; it never changes the plan.

    Attributes:
        request_id: The router's own name for it.
        session_id: The session it belongs to; only a keyed hash is kept.
        route: ROUTED, PASSTHROUGH, or UNSPECIFIED when the router did not tell.
        model: The model that is expected to answer.
        prompt_rate: USD per million prompt tokens, as a decimal string.
        cached_rate: USD per million cached prompt tokens, as a decimal string.
        cache_write_rate: USD per million tokens written to the cache, as a decimal string.
        cache: What it knows of the provider's cache.
        labels: The router's own words for the log line; they are not stored.
        tenant: Whose call it is, as the doors know the caller; tenants share nothing that was kept.
    """

    request_id: str = ""
    session_id: str = ""
    route: str = "UNSPECIFIED"
    model: str = ""
    prompt_rate: str = ""
    cached_rate: str = ""
    cache_write_rate: str = ""
    cache: CacheContext = NOTHING_KNOWN
    labels: Mapping[str, str] = field(default_factory=dict)
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class PruneCall:
    """One call.

    Attributes:
        conversation: The conversation as typed by the caller, or as a body to read.
        limits: The limits the caller sets, by name; the others are the server's.
        context: What the router knows.
        dry_run: Whether to plan and count but change nothing.
        violations: What was found wrong before the call got here, to be told with all the rest.
        history: Of a conversation that was read already, what the next call may go on from; None for nothing.
    """

    conversation: Conversation | Body
    limits: Mapping[str, Any] = field(default_factory=dict)
    context: CallContext = CallContext()
    dry_run: bool = False
    violations: tuple[Violation, ...] = ()
    history: History | None = field(default=None, compare=False, repr=False)


class Place(Protocol):
    """What a call has while it is worked on, and others may be waiting for."""

    def aside(self) -> AbstractContextManager[None]:
        """Lets others be worked on in the block, in which this one waits for something else."""
        ...

    def leave(self) -> None:
        """Makes room for the next one, once."""
        ...

    def give_way(self) -> None:
        """Lets a small call that came lately be answered first; asked between two pieces of the work."""
        ...


class _Anywhere:
    """The place of a call that nobody waits for."""

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def leave(self) -> None:
        return

    def give_way(self) -> None:
        return


ANYWHERE: Final[Place] = _Anywhere()
"""The place of a call that nobody waits for."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the caller waits.

    Attributes:
        seconds: Time left when the call came; None for a caller that waits for ever (seconds).
        when_gone: Registers what to do when the caller leaves; None where nobody can tell.
        place: Its place among the calls that are worked on.
    """

    seconds: float | None = None
    when_gone: WhenGone | None = None
    place: Place = ANYWHERE


@dataclass(frozen=True, slots=True)
class Measured:
    """The prompt that ships.

    Attributes:
        tokens: Its estimated size, tool definitions included (tokens).
        method: The estimate's name.
        error_bound: How far it may lie from the truth, relative to the truth.
    """

    tokens: int
    method: str
    error_bound: float


@dataclass(frozen=True, slots=True)
class Decided:
    """The answer to one call.

    Attributes:
        decision_id: Its id.
        persisted: Whether the decision can no longer be lost.
        budget_tokens: The budget it was planned under (tokens).
        stats: What the plan adds up to.
        edits: What changes; empty in a dry run.
        byte_edits: For a body, the byte range of each edit, in the same order; empty for typed messages.
        unchanged_reason: Why nothing changes, as a slug; empty when something does.
        measured: The prompt that ships; None when the history is not in the request.
        turn_frame: The current turn for the router's classifier; None when nothing could be read.
        format: The dialect the body was read in; None for typed messages and unreadable bodies.
        economics: What the trims are worth; None when the caller gave no prices.
        prefix: How much of the session's previous payload repeats; None without a session, or unprobed.
        considering: What became of each result that a filter was thought of for; empty without extraction.
        worked: What follows from the edits, and what of it a later call may use again.
    """

    decision_id: str
    persisted: bool
    budget_tokens: int
    stats: Stats
    edits: tuple[Edit, ...]
    byte_edits: tuple[ByteEdit, ...]
    unchanged_reason: str
    measured: Measured | None
    turn_frame: TurnFrame | None
    format: Format | None
    economics: Economics | None = None
    prefix: PrefixMatch | None = None
    considering: tuple[Considering, ...] = ()
    worked: Worked = field(default=NOTHING_WORKED, compare=False, repr=False)
