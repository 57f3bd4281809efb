"""What providers charge for input, and how their prompt caches behave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pinch_server.core.cache_model import MINIMUM_PREFIX, CachePrices


@dataclass(frozen=True, slots=True)
class Rates:
    """One class of models.

    Attributes:
        name: What reports call it.
        model: The model whose prices these are, by its name in genai-prices.
        input_price: USD per million input tokens that no cache knows.
        write: Price of tokens written to the cache, as a multiple of that.
        read: Price of tokens read from the cache, as a multiple of that.
        ttl_minutes: How long a cached prefix lives after its last use (minutes).
        minimum_prefix: Shorter prefixes are neither cached nor charged as writes (tokens).
    """

    name: str
    model: str
    input_price: float
    write: float
    read: float
    ttl_minutes: float
    minimum_prefix: int = MINIMUM_PREFIX

    @property
    def prices(self) -> CachePrices:
        """What input costs, as the product reckons."""
        return CachePrices(self.input_price, self.write, self.read, self.minimum_prefix)


RATES: Final[Mapping[str, Rates]] = {
    rates.name: rates
    for rates in (
        Rates("sonnet", "claude-sonnet-4-5", 3.0, write=1.25, read=0.1, ttl_minutes=5),
        Rates("gpt", "gpt-5.2", 1.75, write=1.0, read=0.1, ttl_minutes=10),
        Rates("deepseek", "deepseek-v4-pro", 0.66, write=1.0, read=0.022 / 0.66, ttl_minutes=720),
    )
}
"""Prices as of genai-prices 0.2.3, which a test compares where it is installed. Dearer tiers for long
requests are left out: staying below one is a saving that this yardstick does not claim."""
