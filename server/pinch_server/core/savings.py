"""What pruning saved, from sums over calls: tokens, their middle value, and money at the blend.

A saved token is priced as the router ranks models: `(1 - share) * prompt + share * (cached or prompt)`, where
the share of cached tokens is the assumed one, or the real one of calls whose usage was reported. The cached
price alone would apply the cache's discount to the share that is paid in full as well. Trims that made a
provider write again what its cache held cost the difference between writing and reading; a saving that this
eats up is shown as a negative one. Money is Decimal throughout.
"""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from pinch_server.core.price_table import listed_rates
from pinch_server.core.rates import PER, Rates, read_rates

SHARE_PARTS: Final = 1_000_000
"""Parts of a token in which real cached shares are added up."""

_MONEY: Final = Decimal("0.000001")
_SHARE: Final = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over calls that are priced alike.

    Attributes:
        prompt_rate: USD per million prompt tokens as requests gave it, as decimal text; else empty.
        cached_rate: Likewise for cached prompt tokens.
        cache_write_rate: Likewise for tokens written to the cache.
        model: The model that was called, else the expected one; read only where the request gave no price.
        calls: How many calls.
        pruned_calls: Those that became smaller.
        tokens_saved: By how much, in all (tokens).
        measured_tokens: The part of `tokens_saved` from calls whose real cached share is known (tokens).
        cached_parts: How much of `measured_tokens` would have come from the cache, each call at its own share
            (millionths of a token).
        induced_tokens: Tokens that trims made a provider write to its cache again (tokens).
    """

    prompt_rate: str
    cached_rate: str
    cache_write_rate: str
    model: str
    calls: int
    pruned_calls: int
    tokens_saved: int
    measured_tokens: int
    cached_parts: int
    induced_tokens: int


@dataclass(frozen=True, slots=True)
class Objective:
    """How saved tokens become money.

    Attributes:
        assumed_cache_rate: Share of prompt tokens taken as cached where no usage was reported (0 to 1).
        rates: Prices of requests that bring none; None: those of the price table.
        billing_reset_day: Day of the month on which billing starts anew (1 to 31); None: not shown.
    """

    assumed_cache_rate: Decimal = Decimal(0)
    rates: Rates | None = None
    billing_reset_day: int | None = None

    def rates_for(self, given: Rates | None, model: str | None) -> Rates | None:
        """The prices of a call: those it brought, else the setting's, else the table's; else None."""
        return given or self.rates or listed_rates(model or "")


@dataclass(frozen=True, slots=True)
class Savings:
    """The savings of a window.

    Attributes:
        window_days: Its length (days).
        calls: Calls in it.
        pruned_calls: Those that became smaller.
        share_pruned: The second over the first, 0 to 1, with 4 decimals; 0 without calls.
        total_tokens_saved: Over all pruned calls (tokens).
        median_tokens_saved: The middle of the pruned calls (tokens); None without any.
        dollars_saved: With 6 decimals, negative when trims cost more than they saved (USD); None when there
            were pruned calls and not one of them could be priced.
        unpriced_calls: Pruned calls without a known price.
        reset_date: When billing last started anew; None when no day is set.
        next_reset_date: When it will next.
    """

    window_days: int
    calls: int
    pruned_calls: int
    share_pruned: Decimal
    total_tokens_saved: int
    median_tokens_saved: Decimal | None
    dollars_saved: Decimal | None
    unpriced_calls: int
    reset_date: date | None
    next_reset_date: date | None

    def fields(self) -> dict[str, int | float | str]:
        """The savings under the names that every door shows them by; what is absent is left out.

        Money is decimal text with 6 decimals, dates are `YYYY-MM-DD`.
        """
        shown: dict[str, int | float | str | None] = {
            "window_days": self.window_days,
            "calls_30d": self.calls,
            "pruned_calls_30d": self.pruned_calls,
            "share_pruned": float(self.share_pruned),
            "total_tokens_saved": self.total_tokens_saved,
            "median_tokens_saved": _plain(self.median_tokens_saved),
            "dollars_saved_usd_30d": None if self.dollars_saved is None else f"{self.dollars_saved:.6f}",
            "reset_date": _spelt(self.reset_date),
            "next_reset_date": _spelt(self.next_reset_date),
            "unpriced_calls": self.unpriced_calls,
        }
        return {name: value for name, value in shown.items() if value is not None}


def _spelt(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _plain(amount: Decimal | None) -> float | int | None:
    if amount is None:
        return None
    return int(amount) if amount == int(amount) else float(amount)


def savings(
    sums: Iterable[Sums], median: Decimal | None, objective: Objective, *, window_days: int, today: date
) -> Savings:
    """Adds up what was saved and prices it.

    Args:
        sums: The window's calls, in groups that are priced alike.
        median: The middle of what the pruned ones saved (tokens); None without any.
        objective: How saved tokens become money.
        window_days: The window's length (days).
        today: The day in UTC, for the billing dates.
    """
    calls = pruned = tokens = unpriced = 0
    dollars = Decimal(0)
    for group in sums:
        calls += group.calls
        pruned += group.pruned_calls
        tokens += group.tokens_saved
        given = read_rates(group.prompt_rate, group.cached_rate, group.cache_write_rate)
        rates = objective.rates_for(given, group.model)
        if rates is None:
            unpriced += group.pruned_calls
        else:
            dollars += dollars_saved(group, rates, objective.assumed_cache_rate)
    reset = next_reset = None
    if objective.billing_reset_day is not None:
        reset, next_reset = billing_dates(today, objective.billing_reset_day)
    return Savings(
        window_days=window_days,
        calls=calls,
        pruned_calls=pruned,
        share_pruned=(Decimal(pruned) / max(calls, 1)).quantize(_SHARE, ROUND_HALF_EVEN),
        total_tokens_saved=tokens,
        median_tokens_saved=median,
        # Adding 0 turns a negative zero into a plain one.
        dollars_saved=(
            None if unpriced and unpriced == pruned else dollars.quantize(_MONEY, ROUND_HALF_EVEN) + 0
        ),
        unpriced_calls=unpriced,
        reset_date=reset,
        next_reset_date=next_reset,
    )


def dollars_saved(group: Sums, rates: Rates, assumed_cache_rate: Decimal) -> Decimal:
    """What the calls of one group saved, less the cache writes that their trims brought about (USD)."""
    assumed = (group.tokens_saved - group.measured_tokens) * rates.blend(assumed_cache_rate)
    cached = Decimal(group.cached_parts) / SHARE_PARTS
    measured = (group.measured_tokens - cached) * rates.prompt + cached * rates.read
    induced = group.induced_tokens * max(rates.write - rates.read, Decimal(0))
    return (assumed + measured - induced) / PER


def billing_dates(today: date, day: int) -> tuple[date, date]:
    """The last billing reset up to `today`, and the next; a month too short for `day` resets on its last."""
    this = _in_month(today.year, today.month, day)
    before, after = (today.year, today.month - 1), (today.year, today.month + 1)
    if today < this:
        return _in_month(*before, day), this
    return this, _in_month(*after, day)


def _in_month(year: int, month: int, day: int) -> date:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return date(year, month, min(day, monthrange(year, month)[1]))
