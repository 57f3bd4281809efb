"""What is on record of one filter: what was asked, what it cost, and what came of it; no word of any text."""

from dataclasses import dataclass
from enum import StrEnum

from pinch_server.core.pricing import CacheState


class Repair(StrEnum):
    """What came of having a program repaired that the interpreter did not take."""

    NONE = "none"
    """There was nothing to repair."""
    FIXED = "fixed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call to the model.

    Attributes:
        strategy: What it was for.
        purpose: `filter`, `repair`, `extract` or `chunk`.
        result: `answered`, `truncated`, or why there was no reply.
        prompt: Input that was billed (tokens).
        completion: Output that was billed (tokens).
        cache_read: Input that was read from the model's prompt cache (tokens).
        cache_write: Input that was written to it (tokens).
        cost_usd: What it cost (USD).
        latency_ms: How long it took (milliseconds).
    """

    strategy: str
    purpose: str
    result: str
    prompt: int
    completion: int
    cache_read: int
    cache_write: int
    cost_usd: float
    latency_ms: float


@dataclass(frozen=True, slots=True)
class FilterRecord:
    """One result that a filter was written for, or was to be.

    Attributes:
        result: `accepted`, or why it was refused.
        model: The model that was asked; empty for none.
        strategy: The strategy whose work was accepted; else the one that was set.
        aggressiveness: How much the model was asked to leave out.
        cache_state: What the agent's provider cache was taken to hold.
        content_class: What kind of text the result is; empty where nobody looked.
        gate_reason: Why the gate let it through; empty where it did not weigh.
        tokens: Its size as it came (tokens).
        after_tokens: What is left of it (tokens); its own size where it was refused.
        repair: What came of a repair.
        calls: Every call to the model.
    """

    result: str
    model: str
    strategy: str
    aggressiveness: str
    cache_state: CacheState | None
    content_class: str
    gate_reason: str
    tokens: int
    after_tokens: int
    repair: Repair
    calls: tuple[CallRecord, ...]

    @property
    def cost_usd(self) -> float:
        """What all calls cost (USD)."""
        return sum(call.cost_usd for call in self.calls)
