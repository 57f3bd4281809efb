"""What the calls so far have taught: how much filters remove, what calls cost, how long they take."""

from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from pinch_server.core.extraction.economics import EVIDENCE_TOKENS, EXPLORATIONS, SLOW_MS

PRIOR_SHARE: Final = 0.12
"""What a filter is taken to remove before there is evidence (0 to 1)."""
PRIOR_TOKENS: Final = 8_000
"""The weight of that prior (tokens)."""
MOST_SHARE: Final = 0.60
"""Most that is ever expected of a filter (0 to 1)."""
SAMPLES: Final = 64
"""Calls whose times are kept."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned; each observation makes a new one.

    Attributes:
        seen_tokens: Size of all results that came back, accepted or not (tokens).
        removed_tokens: What accepted ones lost (tokens).
        calls: Calls to the model.
        spent_usd: What they cost (USD).
        latencies_ms: The times of the last `SAMPLES` of them (milliseconds).
    """

    seen_tokens: int = 0
    removed_tokens: int = 0
    calls: int = 0
    spent_usd: float = 0.0
    latencies_ms: tuple[float, ...] = ()

    def removed_share(self, of_class: float | None = None) -> float:
        """What a filter is expected to remove (0 to 1).

        What this writer was seen to remove weighs more the more there is of it; before that, the prior holds.

        Args:
            of_class: What filters were seen to remove of the text's class; None where it has none.
        """
        prior = PRIOR_SHARE if of_class is None else of_class
        if self.seen_tokens < EVIDENCE_TOKENS:
            return prior
        observed = self.removed_tokens / self.seen_tokens
        weight = self.seen_tokens / (self.seen_tokens + PRIOR_TOKENS)
        return min(max(weight * observed + (1 - weight) * prior, 0.0), max(MOST_SHARE, prior))

    @property
    def call_usd(self) -> float | None:
        """What a call costs on average; None while there was none (USD)."""
        return self.spent_usd / self.calls if self.calls else None

    @property
    def median_ms(self) -> float | None:
        """The median time of the last calls; None while there was none (milliseconds)."""
        return median(self.latencies_ms) if self.latencies_ms else None

    def may_explore(self, explored: int) -> bool:
        """Whether a session that explored so often may make a call that does not pay, to learn from it."""
        is_slow = self.calls > 0 and (self.median_ms or 0.0) >= SLOW_MS
        return self.seen_tokens < EVIDENCE_TOKENS and explored < EXPLORATIONS and not is_slow

    def called(self, cost_usd: float, latency_ms: float) -> "Learned":
        """With one more call."""
        return replace(
            self,
            calls=self.calls + 1,
            spent_usd=self.spent_usd + cost_usd,
            latencies_ms=(*self.latencies_ms, latency_ms)[-SAMPLES:],
        )

    def observed(self, tokens: int, removed: int) -> "Learned":
        """With one more result that came back; 0 removed where it was refused.

        A call that ran out of time says nothing about filters and is not observed.
        """
        return replace(
            self,
            seen_tokens=self.seen_tokens + tokens,
            removed_tokens=self.removed_tokens + max(0, min(removed, tokens)),
        )
