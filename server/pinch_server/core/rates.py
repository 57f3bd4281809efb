"""What tokens of the prompt cost, and the price at which a saved one counts."""

from dataclasses import dataclass
from decimal import Decimal

from pinch_server.core.money import is_amount

PER = Decimal(1_000_000)
"""Prices are USD for so many tokens."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of one model's prompt tokens, in USD per million.

    Attributes:
        prompt: Of a token that no cache knows.
        cached: Of a token read from the provider's cache; None where no such price is known.
        cache_write: Of a token written to the cache; None where no such price is known.
    """

    prompt: Decimal
    cached: Decimal | None = None
    cache_write: Decimal | None = None

    @property
    def read(self) -> Decimal:
        """What a token from the cache costs: as one of the prompt where no price is known, or it is 0."""
        return self.cached or self.prompt

    @property
    def write(self) -> Decimal:
        """What a token into the cache costs: as one of the prompt where no price is known, or it is 0."""
        return self.cache_write or self.prompt

    def blend(self, cached_share: Decimal) -> Decimal:
        """The price of a prompt token of which `cached_share` (0 to 1) comes from the cache."""
        return (1 - cached_share) * self.prompt + cached_share * self.read


def read_rates(prompt: str | None, cached: str | None, cache_write: str | None) -> Rates | None:
    """Rates from decimal texts; None without a legal price of the prompt, for nothing can be priced then."""
    price = _amount(prompt)
    return None if price is None else Rates(price, _amount(cached), _amount(cache_write))


def _amount(text: str | None) -> Decimal | None:
    return Decimal(text) if text and is_amount(text) else None
