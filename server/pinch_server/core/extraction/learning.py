"""What calls have taught: what filters remove, what calls cost and last, how often trims are repeated."""

from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from pinch_server.core.extraction.economics import (
    EVIDENCE_TOKENS,
    EXPLORATIONS,
    GOAL_TOKENS,
    SLOW_MS,
    TYPICAL_TOKENS,
    ModelPrices,
    call_cost,
)

PRIOR_TOKENS: Final = 80_000
"""The weight of what was measured elsewhere (tokens): ten long results.

With that of one, the first filter that is refused halves what is expected of the next, and a few of them
close the gate for good, since what is not asked for teaches nothing.
"""
PRIOR_BEYOND: Final = 0.12
"""By what share of excerpts filters' texts, refused ones included, are shorter before there is evidence (0 to
1): what the design takes a filter to remove of anything."""
PRIOR_EXCERPT_TOKENS: Final = 10_000
"""The weight of that (tokens): ten excerpts."""
PRIOR_REPEATS: Final = 12.0
"""How often a trim is repeated before there is evidence: the median of the design's ledger."""
MOST_REPEATS: Final = 215.0
"""Most that is ever expected: of the ledger too. Who asks about one call for ever teaches nobody more."""
PRIOR_TRIMS: Final = 20
"""The weight of that (trims)."""
MOST_SHARE: Final = 0.60
"""Most that is ever expected of a filter (0 to 1)."""
REMOVED_OF_ACCEPTED: Final = 0.456 / (27 / 40)
"""What an accepted filter removed: of 40 results' tokens 45.6 % in all, with 27 of them accepted (0 to 1)."""
SAMPLES: Final = 64
"""Calls whose times are kept."""


def share_in_seat(of_class: float, left: float) -> float:
    """What a filter is expected to remove of a result that else is an excerpt, with nothing learned (0 to 1).

    A text is sent only where it is no longer than the excerpt: it removes all the rest, or is not accepted.
    How likely that is follows from what filters removed of the class on average, the refused ones nothing.

    Args:
        of_class: What filters were seen to remove of the text's class (0 to 1).
        left: The excerpt's share of the result (0 to 1).
    """
    return min(1.0, of_class / REMOVED_OF_ACCEPTED) * (1.0 - min(1.0, left))


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned; each observation makes a new one.

    Attributes:
        seen_tokens: Size of all results that came back, accepted or not (tokens).
        removed_tokens: What accepted ones lost (tokens).
        calls: Calls to the model.
        spent_usd: What they cost (USD).
        listed_usd: What they should have cost, by list prices and sizes (USD).
        latencies_ms: The times of the last `SAMPLES` of them (milliseconds).
        excerpt_tokens: Size of the excerpts of those results (tokens).
        beyond_tokens: What accepted texts were shorter than theirs (tokens).
        trims: Results that were sent trimmed for the first time.
        repeats: Results that were sent trimmed again.
    """

    seen_tokens: int = 0
    removed_tokens: int = 0
    calls: int = 0
    spent_usd: float = 0.0
    listed_usd: float = 0.0
    latencies_ms: tuple[float, ...] = ()
    excerpt_tokens: int = 0
    beyond_tokens: int = 0
    trims: int = 0
    repeats: int = 0

    def removed_share(self, prior: float) -> float:
        """What a filter is expected to remove (0 to 1).

        What this writer was seen to remove weighs more the more there is of it; before that, the prior holds.

        Args:
            prior: What it is expected to remove with nothing learned (0 to 1).
        """
        if self.seen_tokens < EVIDENCE_TOKENS:
            return prior
        observed = self.removed_tokens / self.seen_tokens
        weight = self.seen_tokens / (self.seen_tokens + PRIOR_TOKENS)
        return min(max(weight * observed + (1 - weight) * prior, 0.0), max(MOST_SHARE, prior))

    def typical_usd(self, prices: ModelPrices | None) -> float | None:
        """What a call about a result of typical size costs; None while there was none (USD).

        As many times its list price as all calls cost theirs: the mean of calls about longer results says
        nothing of a typical one.

        Args:
            prices: List prices; None where nobody knows them, and then it is the mean of all calls.
        """
        if not self.calls:
            return None
        if prices is None or not self.listed_usd:
            return self.spent_usd / self.calls
        return call_cost(TYPICAL_TOKENS, GOAL_TOKENS, prices) * self.spent_usd / self.listed_usd

    @property
    def beyond_share(self) -> float:
        """By what share of the excerpt a filter is expected to make a result shorter than that (0 to 1)."""
        beyond = PRIOR_EXCERPT_TOKENS * PRIOR_BEYOND + self.beyond_tokens
        return beyond / (PRIOR_EXCERPT_TOKENS + self.excerpt_tokens)

    @property
    def mean_repeats(self) -> float:
        """How often a trim is repeated, as far as was seen; sessions that go on have not said all yet."""
        mean = (PRIOR_TRIMS * PRIOR_REPEATS + self.repeats) / (PRIOR_TRIMS + self.trims)
        return min(mean, MOST_REPEATS)

    @property
    def median_ms(self) -> float | None:
        """The median time of the last calls; None while there was none (milliseconds)."""
        return median(self.latencies_ms) if self.latencies_ms else None

    def may_explore(self, explored: int) -> bool:
        """Whether a session that explored so often may make a call that does not pay, to learn from it."""
        is_slow = self.calls > 0 and (self.median_ms or 0.0) >= SLOW_MS
        return self.seen_tokens < EVIDENCE_TOKENS and explored < EXPLORATIONS and not is_slow

    def called(self, cost_usd: float, latency_ms: float, listed_usd: float) -> "Learned":
        """With one more call.

        Args:
            cost_usd: What it cost (USD).
            latency_ms: How long it took (milliseconds).
            listed_usd: What it should have cost; 0 for a repair, which belongs to the call before (USD).
        """
        return replace(
            self,
            calls=self.calls + 1,
            spent_usd=self.spent_usd + cost_usd,
            listed_usd=self.listed_usd + listed_usd,
            latencies_ms=(*self.latencies_ms, latency_ms)[-SAMPLES:],
        )

    def observed(self, tokens: int, removed: int, excerpt: int) -> "Learned":
        """With one more result that came back; 0 removed where it was refused.

        A call that ran out of time says nothing about filters and is not observed.

        Args:
            tokens: Its size (tokens).
            removed: What it lost (tokens).
            excerpt: What is sent of it otherwise (tokens).
        """
        beyond = removed - (tokens - excerpt)
        return replace(
            self,
            seen_tokens=self.seen_tokens + tokens,
            removed_tokens=self.removed_tokens + max(0, min(removed, tokens)),
            excerpt_tokens=self.excerpt_tokens + excerpt,
            beyond_tokens=self.beyond_tokens + max(0, min(beyond, excerpt)),
        )

    def sent(self, trims: int, repeats: int) -> "Learned":
        """With one more call's trims.

        Args:
            trims: Results that it sends trimmed for the first time.
            repeats: Results that it sends trimmed again.
        """
        return replace(self, trims=self.trims + trims, repeats=self.repeats + repeats)
