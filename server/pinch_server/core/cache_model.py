"""How a provider with a prompt cache charges for the input of a session, call by call."""

from dataclasses import dataclass

from pinch_server.core.rates import PER, Rates

MINIMUM_PREFIX = 1_024
"""Shorter prefixes are neither cached nor charged as writes, at most providers (tokens)."""


@dataclass(frozen=True, slots=True)
class CachePrices:
    """What input costs.

    Attributes:
        input_price: USD per million tokens that no cache knows.
        write: Price of tokens written to the cache, as a multiple of that.
        read: Price of tokens read from the cache, as a multiple of that.
        minimum_prefix: Shorter prefixes are neither cached nor charged as writes (tokens).
    """

    input_price: float
    write: float
    read: float
    minimum_prefix: int = MINIMUM_PREFIX

    @classmethod
    def of(cls, rates: Rates) -> "CachePrices":
        """The prices that a list of them gives; a free prompt has no multiples, and stays free."""
        if not rates.prompt:
            return cls(0.0, 1.0, 1.0)
        return cls(float(rates.prompt), float(rates.write / rates.prompt), float(rates.read / rates.prompt))


def input_dollars(prices: CachePrices, tokens: int, shared_tokens: int, *, is_cold: bool = False) -> float:
    """The input price of one call (USD).

    What the call shares with the one before is read from the cache, the rest is written to it.

    Args:
        prices: What input costs.
        tokens: All that the call ships (tokens).
        shared_tokens: How much of that stands unchanged at the start of the call before (tokens).
        is_cold: Whether the cache has forgotten that call.
    """
    read = shared_tokens if shared_tokens >= prices.minimum_prefix and not is_cold else 0
    write = prices.write if tokens >= prices.minimum_prefix else 1.0
    return prices.input_price / float(PER) * (prices.read * read + write * (tokens - read))
