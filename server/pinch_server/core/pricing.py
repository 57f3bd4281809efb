"""What the trims of one call are worth in money at a provider with a prompt cache.

With prices w of a token written to the cache and r of one read from it, R tokens removed, S tokens that had
been sent behind the first change (the removed included) and K calls to follow, an event on a warm cache earns
R (w + K r) - (w - r) S. On a cold one, or for tokens never sent, S is 0; without a cache each call pays the
plain price for every token.
"""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from pinch_server.core.rates import PER, Rates

_MICROS: Final = 1_000_000


class CacheState(StrEnum):
    """What the provider's cache holds of a conversation."""

    WARM = "warm"
    """The prefix sent last."""
    COLD = "cold"
    """Nothing any more, or nothing yet."""
    NONE = "none"
    """Nothing ever: there is no cache."""


@dataclass(frozen=True, slots=True)
class CacheContext:
    """What a caller knows of the cache.

    Attributes:
        state: What it holds; None when the caller does not know.
        last_call_unix_micros: When the session's last call was made (microseconds since the Unix epoch).
        ttl_seconds: How long the provider keeps a prefix after its last use (seconds).
        further_calls: How many calls the caller expects to follow; None when it does not know.
    """

    state: CacheState | None = None
    last_call_unix_micros: int | None = None
    ttl_seconds: int | None = None
    further_calls: int | None = None

    def state_at(self, now_micros: int) -> CacheState:
        """The state now: as told, else by the last call's age; warm, where trims earn least, if unknown."""
        if self.state is not None:
            return self.state
        if self.last_call_unix_micros is None or self.ttl_seconds is None:
            return CacheState.WARM
        age = now_micros - self.last_call_unix_micros
        return CacheState.COLD if age > self.ttl_seconds * _MICROS else CacheState.WARM


NOTHING_KNOWN: Final = CacheContext()
"""What a caller who says nothing knows."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What the trims of a call take away and disturb.

    Attributes:
        kept_out: Removed by trims that earlier calls had made already (tokens).
        sent: Removed by new trims from what an earlier call had sent (tokens).
        fresh: Removed by new trims from what no call had sent (tokens).
        rewritten: What was sent before and still ships, behind the first new trim (tokens).
    """

    kept_out: int = 0
    sent: int = 0
    fresh: int = 0
    rewritten: int = 0


@dataclass(frozen=True, slots=True)
class Economics:
    """What the trims of one call are worth.

    Attributes:
        expected_saving_usd: Over this call and the expected further ones; may be negative (USD).
        induced_cache_write_usd: What writing the changed prefix anew costs beyond reading it (USD).
        break_even_calls: Further calls after which the new trims have paid for themselves; None: never.
    """

    expected_saving_usd: Decimal
    induced_cache_write_usd: Decimal
    break_even_calls: float | None


def economics(rates: Rates, state: CacheState, further_calls: int, trimmed: Trimmed) -> Economics:
    """Prices the trims of one call.

    Args:
        rates: Prices of the model that is expected to answer.
        state: What the provider's cache holds.
        further_calls: Calls expected to follow with this prefix.
        trimmed: What the trims take away and disturb.
    """
    if state is CacheState.NONE:
        write = read = rates.prompt
    else:
        write, read = rates.write, rates.read
    is_warm = state is CacheState.WARM
    first = read if is_warm else write
    induced = (write - read) * trimmed.rewritten if is_warm else Decimal(0)
    now = first * trimmed.sent + write * trimmed.fresh - induced
    later = read * (trimmed.sent + trimmed.fresh)
    held = trimmed.kept_out * (first + further_calls * read)
    return Economics(
        expected_saving_usd=(held + now + further_calls * later) / PER,
        induced_cache_write_usd=induced / PER,
        break_even_calls=_break_even(now, later),
    )


def _break_even(now: Decimal, later: Decimal) -> float | None:
    """Calls until `later` for each has made up for `now`; None when it never does."""
    if now >= 0:
        return 0.0
    return float(-now / later) if later > 0 else None
