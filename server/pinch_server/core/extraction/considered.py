"""What is asked of an extractor about one call, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pinch_server.core.conversation import Message
from pinch_server.core.extraction.candidate_gate import Gate
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Plan
from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.core.rates import Rates
from pinch_server.core.tally import Tally


@dataclass(frozen=True, slots=True)
class ExtractionCall:
    """One call, planned.

    Attributes:
        plan: What was decided without any extraction.
        tally: The conversation's tally.
        limits: What may ship.
        tenant: Whose call it is; tenants share nothing.
        session: The hash of its session; None without one.
        owner: The hash of its tenant, as decisions have it; None where callers are not told apart.
        rates: What the agent's model charges; None where the caller did not say.
        cache: What the caller knows of the provider's cache.
        now_micros: The time (microseconds since the Unix epoch).
        seconds: What is left of the call's time; None where the caller waits for ever (seconds).
        is_dry: Whether nothing may be changed.
    """

    plan: Plan
    tally: Tally
    limits: Limits
    tenant: str
    session: str | None
    owner: str | None
    rates: Rates | None
    cache: CacheContext
    now_micros: int
    seconds: float | None = None
    is_dry: bool = False


class Found(StrEnum):
    """What was found of a result among what is frozen; only results that reach the floor, and hits, count."""

    TEXT = "text"
    """A filter's text: no call is needed."""
    REFUSAL = "refusal"
    """That a filter was refused: no call is made."""
    UNDER_WAY = "under_way"
    """A filter that is being written, or was given up a moment ago: no second call is made."""
    NOTHING = "nothing"


class Fallback(StrEnum):
    """Why a result is sent as an excerpt that may have been sent extracted."""

    LOST = "lost"
    """It was sent trimmed before, and nobody knows how: that word is lost, or there was no extraction."""
    UNAVAILABLE = "unavailable"
    """The database did not say in time how it was sent before."""
    UNFIT = "unfit"
    """The text that was sent before is longer than the excerpt now: the limits have changed."""


class Note(StrEnum):
    """What there is to know beside the gate that decided."""

    LOW_YIELD = "low_yield_content_class"
    """The economic gate declined, and filters remove little of texts of this class."""
    UNPRICED = "cheap_model_price_unconfigured"
    """Nobody said what the extraction model charges, so what a call costs is a guess."""


@dataclass(frozen=True, slots=True)
class Considering:
    """What became of one result, with what was weighed.

    Attributes:
        message: Index of its message.
        block: Index of its block; None where the whole message is the result.
        gate: The gate that decided, or how it was replayed.
        reason: The economic gate's reason, or why a filter's result was refused; empty for neither.
        content_class: What kind of text it is; empty where nobody looked.
        tokens: Its size as it came (tokens).
        sent_tokens: What is sent of an extracted one; None for the others (tokens).
        is_fresh: Whether an extracted one is sent so for the first time.
        removed_share: What a filter was expected to remove (0 to 1).
        reuses: Later calls that were expected to repeat it.
        saving_usd: What that would be worth (USD).
        call_usd: What the call was expected to cost (USD).
        excerpt_tokens: What is sent of it otherwise, or will be (tokens).
        listed_usd: The same by list prices and sizes alone (USD).
        state: What the provider's cache was taken to hold.
        found: What was found of it among what is frozen; None where that does not count.
        notes: What else there is to know.
    """

    message: int
    block: int | None
    gate: Gate
    tokens: int
    state: CacheState
    reason: str = ""
    content_class: str = ""
    sent_tokens: int | None = None
    is_fresh: bool = False
    removed_share: float = 0.0
    reuses: int = 0
    saving_usd: float = 0.0
    call_usd: float = 0.0
    excerpt_tokens: int = 0
    listed_usd: float = 0.0
    found: Found | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A result that a filter is to be written for.

    Attributes:
        text: The result as it came.
        tokens: Its size (tokens).
        label: The tool's name.
        messages: The conversation up to the call.
        tenant: Whose it is.
        shared_key: Where a text that others of the tenant may have is kept.
        session_key: Where one for this session alone is kept.
        aim_chars: How long the rest may be at most, or it is of no use (code points).
        reference: Names the original; empty where none is kept.
        shares_context: Whether other results of its call are filtered too: they share the conversation.
        considering: How it came that it is to be written; None where nobody weighed it.
    """

    text: str
    tokens: int
    label: str
    messages: Sequence[Message]
    tenant: str
    shared_key: bytes
    session_key: bytes
    aim_chars: int
    reference: str = ""
    shares_context: bool = False
    considering: Considering | None = None


@dataclass(frozen=True, slots=True)
class Considered:
    """What an extractor made of a call.

    Attributes:
        plan: The plan that ships.
        considering: What became of each result that was looked at.
        later: Results that filters are to be written for when the answer is out.
    """

    plan: Plan
    considering: tuple[Considering, ...] = ()
    later: tuple[Job, ...] = ()
