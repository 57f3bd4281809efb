"""Whether a call to the cheap model pays: what it removes, at what each token is worth, against its price.

Formulas and constants: design of extraction, section 4. Prices here are USD per million tokens.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pinch_server.core.pricing import CacheState
from pinch_server.core.rates import Rates

PREAMBLE_TOKENS: Final = 1_893
"""The system prompt of a call, in o200k tokens."""
SHOWN_TOKENS: Final = 5_000
"""Most tokens of a result that a prompt shows."""
GOAL_TOKENS: Final = 200
"""What a prompt says around the goal."""
BILLED_PER_TOKEN: Final = 1.29
"""Billed tokens of a cheap model for one of o200k (6,396 -> 8,222 measured)."""
REPLY_TOKENS: Final = 200
"""Tokens of a program, as a rule."""
UNPRICED_CALL_USD: Final = 0.012
"""What a call is taken to cost where no price is known (USD)."""
TYPICAL_TOKENS: Final = 2_000
"""The size of a result that observed prices are compared at."""
REUSES_SEEN: Final = 6
REUSES_LONG: Final = 3
REUSES: Final = 4
LONG_MESSAGES: Final = 20
MESSAGES_PER_CALL: Final = 2
"""A call of an agent adds its answer and a result."""
EVIDENCE_TOKENS: Final = 1_500
"""With less than this observed, a session may explore."""
EXPLORATIONS: Final = 2
"""Most explorations of a session."""
SLOW_MS: Final = 6_000.0
"""A model whose median call takes this long is not explored (milliseconds)."""

_MILLION: Final = 1_000_000
_FRESH, _READ_SHARE, _WRITE_SHARE = 3.00, 0.10, 1.25
_LEAST_SCALE, _MOST_SCALE = 0.1, 10.0


@dataclass(frozen=True, slots=True)
class PromptPrices:
    """What the agent's model charges for a prompt token (USD per million).

    Attributes:
        fresh: One that no cache knows.
        read: One read from the cache.
        write: One written to it.
    """

    fresh: float = _FRESH
    read: float = _FRESH * _READ_SHARE
    write: float = _FRESH * _WRITE_SHARE

    @classmethod
    def of(cls, rates: Rates | None) -> "PromptPrices":
        """The prices a caller gave; a missing one by its usual share, all of them by a common list price.

        A prompt that costs nothing is nothing to save; a read or a write at 0 is one that nobody priced.
        """
        if rates is None:
            return cls()
        fresh = float(rates.prompt)
        return cls(
            fresh,
            float(rates.cached) if rates.cached else fresh * _READ_SHARE,
            float(rates.cache_write) if rates.cache_write else fresh * _WRITE_SHARE,
        )

    def values(self, state: CacheState) -> tuple[float, float]:
        """What a removed token is worth now, and in each later call."""
        if state is CacheState.NONE:
            return self.fresh, self.fresh
        return (self.write if state is CacheState.COLD else self.read), self.read


@dataclass(frozen=True, slots=True)
class ModelPrices:
    """What the cheap model charges (USD per million tokens).

    Attributes:
        prompt: Input.
        completion: Output.
        cache_write: Input written to its prompt cache.
        cache_read: Input read from it.
    """

    prompt: float = 1.00
    completion: float = 5.00
    cache_write: float = 1.25
    cache_read: float = 0.10

    def cost(self, prompt: int, completion: int, cache_read: int = 0, cache_write: int = 0) -> float:
        """What a call was billed, by its own counts of tokens (USD)."""
        return (
            self.prompt * prompt
            + self.completion * completion
            + self.cache_read * cache_read
            + self.cache_write * cache_write
        ) / _MILLION


HAIKU: Final = ModelPrices()
"""List prices of the model that the measurements were made with."""


class Reason(StrEnum):
    """Why the gate let a candidate through, or did not."""

    EXPLORING = "exploring"
    RECURRING = "recurring content"
    COLD = "cold cache"
    NON_CACHING = "non-caching backend"
    PAYS = "expected saving exceeds call cost"
    NOT_PAID_WARM = "cache-aware, saving below call cost"
    NOT_PAID = "saving below call cost"
    CACHING = "suppressed: disabled by default on caching backends (measured net-negative)"


class Against(StrEnum):
    """What a filter's text is held against, to say what it saves."""

    WHOLE = "whole"
    """The result sent whole, as the measurements behind the gate have it."""
    EXCERPT = "excerpt"
    """The excerpt that is sent otherwise: what the bill changes by."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the gate weighs.

    Attributes:
        tokens: Size of the result (tokens).
        removed_share: What a filter is expected to remove of it (0 to 1).
        state: What the provider's cache holds.
        was_seen: Whether this content came before.
        reuses: Later calls that are expected to repeat the result.
        prices: What the agent's model charges.
        call_usd: What the call is expected to cost (USD).
        saves_now: Whether this very call sends what is left; one that is written behind the reply comes too
            late for it.
    """

    tokens: int
    removed_share: float
    state: CacheState
    was_seen: bool
    reuses: float
    prices: PromptPrices
    call_usd: float
    saves_now: bool = True

    @property
    def removed(self) -> float:
        """What the call is expected to remove (tokens)."""
        return self.tokens * self.removed_share

    @property
    def saving_usd(self) -> float:
        """What removing it is worth over this call and the later ones (USD)."""
        now, later = self.prices.values(self.state)
        return self.removed * (now * self.saves_now + self.reuses * later) / _MILLION


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be done beside what pays.

    Attributes:
        on_caching_backend: Whether extraction may run for a provider that caches prompts at all.
        is_sweeping: Whether the provider's cache is known to have expired, and that is made use of.
        may_explore: Whether a call that does not pay may be made to learn from.
    """

    on_caching_backend: bool = False
    is_sweeping: bool = False
    may_explore: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says.

    Attributes:
        is_allowed: Whether the call may be made.
        reason: Why.
        terms: What was weighed.
    """

    is_allowed: bool
    reason: Reason
    terms: Terms


def least_reuses(messages: int, *, was_seen: bool) -> int:
    """Later calls that repeat a result at least, by what was measured of few sessions.

    Args:
        messages: Messages of the conversation.
        was_seen: Whether the content came before.
    """
    if was_seen:
        return REUSES_SEEN
    return REUSES_LONG if messages >= LONG_MESSAGES else REUSES


def expected_reuses(messages: int, mean_repeats: float, *, was_seen: bool) -> float:
    """Later calls that are expected to repeat a result, where the caller does not say.

    How long a session goes on is spread so widely (ledger of the design: 4 to 215 repeats, median 12) that
    the longer it went on, the longer it is to go on. The mean of such lengths (Lomax, shape 2) is the mean of
    all trims for a session that begins, and one more for each call that was made.

    Args:
        messages: Messages of the conversation.
        mean_repeats: How often a trim is repeated on average.
        was_seen: Whether the content came before.
    """
    return max(least_reuses(messages, was_seen=was_seen), mean_repeats + messages // MESSAGES_PER_CALL)


def call_cost(
    tokens: int, goal_overhead: int, prices: ModelPrices | None, observed_usd: float | None = None
) -> float:
    """What a call is expected to cost (USD).

    Args:
        tokens: Size of the result (tokens).
        goal_overhead: `GOAL_TOKENS` and the goal's own (tokens).
        prices: What the cheap model charges; None where that is not known.
        observed_usd: What calls cost so far, on average; None when there were none (USD).
    """
    if prices is None:
        return UNPRICED_CALL_USD if observed_usd is None else observed_usd
    cost = _listed(tokens, goal_overhead, prices)
    if observed_usd is None:
        return cost
    typical = _listed(TYPICAL_TOKENS, GOAL_TOKENS, prices)
    # A model of one's own may be free.
    scale = observed_usd / typical if typical else 0.0
    return cost * scale if _LEAST_SCALE < scale < _MOST_SCALE else (cost + observed_usd) / 2


def _listed(tokens: int, goal_overhead: int, prices: ModelPrices) -> float:
    billed = int((PREAMBLE_TOKENS + min(tokens, SHOWN_TOKENS) + goal_overhead) * BILLED_PER_TOKEN)
    return prices.cost(billed, REPLY_TOKENS)


def weigh(terms: Terms, allowance: Allowance) -> Verdict:
    """Decides about one candidate: strictly more must be saved than spent."""
    is_caching = terms.state is not CacheState.NONE
    if is_caching and not (allowance.on_caching_backend or allowance.is_sweeping):
        return Verdict(False, Reason.CACHING, terms)
    if terms.saving_usd > terms.call_usd:
        return Verdict(True, _why(terms), terms)
    if allowance.may_explore:
        return Verdict(True, Reason.EXPLORING, terms)
    warm = terms.state is CacheState.WARM
    return Verdict(False, Reason.NOT_PAID_WARM if warm else Reason.NOT_PAID, terms)


def _why(terms: Terms) -> Reason:
    if terms.was_seen:
        return Reason.RECURRING
    return {CacheState.COLD: Reason.COLD, CacheState.NONE: Reason.NON_CACHING}.get(terms.state, Reason.PAYS)
