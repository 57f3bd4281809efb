"""What savings are worth: each rule by a case that was computed by hand."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from pinch_server.core.rates import Rates, read_rates
from pinch_server.core.savings import Objective, Savings, Sums, billing_dates, savings

SONNET = ("3", "0.30", "3.75")
STANDARD = Objective()
TODAY = date(2026, 3, 14)


def a_group(**changes: Any) -> Sums:
    """One pruned call that saved 100,000 tokens, at sonnet's prices, without reported usage."""
    fields: dict[str, Any] = {
        "prompt_rate": SONNET[0],
        "cached_rate": SONNET[1],
        "cache_write_rate": SONNET[2],
        "model": "",
        "calls": 1,
        "pruned_calls": 1,
        "tokens_saved": 100_000,
        "measured_tokens": 0,
        "cached_parts": 0,
        "induced_tokens": 0,
    }
    return Sums(**(fields | changes))


def of(*groups: Sums, median: str | None = None, objective: Objective = STANDARD, days: int = 30) -> Savings:
    middle = None if median is None else Decimal(median)
    return savings(groups, middle, objective, window_days=days, today=TODAY)


def at_rate(share: str) -> Objective:
    return Objective(assumed_cache_rate=Decimal(share))


def test_without_an_assumed_cache_a_saved_token_is_worth_the_full_price() -> None:
    """100,000 tokens at $3 a million are $0.30."""
    assert of(a_group()).dollars_saved == Decimal("0.300000")


def test_a_saved_token_is_priced_at_the_blend() -> None:
    """At an assumed cache rate of 0.9: 0.1 x $3 + 0.9 x $0.30 = $0.57 a million, so $0.057."""
    assert of(a_group(), objective=at_rate("0.9")).dollars_saved == Decimal("0.057000")


def test_the_discount_is_not_applied_twice() -> None:
    """The cached price alone ($0.03), or times its share ($0.027), would drop the share paid in full."""
    saved = of(a_group(), objective=at_rate("0.9")).dollars_saved
    assert saved not in (Decimal("0.030000"), Decimal("0.027000"))
    assert saved == Decimal("0.057000")


@pytest.mark.parametrize("cached", ["", "0"])
def test_without_a_cached_price_a_cached_token_costs_the_full_one(cached: str) -> None:
    """`cached or prompt`: with no cached price the assumed cache rate changes nothing."""
    assert of(a_group(cached_rate=cached), objective=at_rate("0.9")).dollars_saved == Decimal("0.300000")


def test_a_real_cached_share_replaces_the_assumed_one() -> None:
    """Half from the cache: 50,000 x $3 + 50,000 x $0.30 a million = $0.165, whatever is assumed."""
    group = a_group(measured_tokens=100_000, cached_parts=50_000 * 1_000_000)
    assert of(group, objective=at_rate("0.9")).dollars_saved == Decimal("0.165000")
    assert of(group).dollars_saved == Decimal("0.165000")


def test_calls_with_and_without_usage_are_priced_each_by_its_own_share() -> None:
    """$0.165 for the reported call and $0.057 for the other make $0.222."""
    group = a_group(
        calls=2,
        pruned_calls=2,
        tokens_saved=200_000,
        measured_tokens=100_000,
        cached_parts=50_000 * 1_000_000,
    )
    assert of(group, objective=at_rate("0.9")).dollars_saved == Decimal("0.222000")


def test_induced_cache_writes_cost_what_writing_costs_over_reading() -> None:
    """20,000 tokens written again at $3.75 in place of read at $0.30 take $0.069 from $0.165."""
    group = a_group(measured_tokens=100_000, cached_parts=50_000 * 1_000_000, induced_tokens=20_000)
    assert of(group).dollars_saved == Decimal("0.096000")


def test_a_loss_is_shown_as_a_loss() -> None:
    """1,000 tokens saved from the cache ($0.0003) against 40,000 written again ($0.138): -$0.1377."""
    group = a_group(
        tokens_saved=1_000, measured_tokens=1_000, cached_parts=1_000 * 1_000_000, induced_tokens=40_000
    )
    found = of(group)
    assert found.dollars_saved == Decimal("-0.137700")
    assert found.fields()["dollars_saved_usd_30d"] == "-0.137700"


def test_writing_counts_as_full_price_where_no_other_is_known() -> None:
    """Without a write price 20,000 tokens cost $3 - $0.30 a million more: $0.054."""
    group = a_group(
        cache_write_rate="", measured_tokens=100_000, cached_parts=50_000 * 1_000_000, induced_tokens=20_000
    )
    assert of(group).dollars_saved == Decimal("0.111000")


def test_rates_come_from_the_request_then_the_settings_then_the_table() -> None:
    """Each source stands before the next, and a request's own prices are never mixed with another's."""
    bare = a_group(prompt_rate="", cached_rate="", cache_write_rate="", model="claude-sonnet-4-5")
    default = Objective(assumed_cache_rate=Decimal("0.5"), rates=Rates(Decimal(10)))
    assert of(a_group(cached_rate=""), objective=default).dollars_saved == Decimal("0.300000")
    assert of(bare, objective=default).dollars_saved == Decimal("1.000000")
    assert of(bare).dollars_saved == Decimal("0.300000")


def test_calls_without_a_known_price_are_told_apart() -> None:
    """Their tokens are in the sums, their money is not, and they are counted."""
    unknown = a_group(prompt_rate="", cached_rate="", cache_write_rate="", model="house-model", calls=3)
    found = of(a_group(), unknown)
    assert (found.total_tokens_saved, found.unpriced_calls) == (200_000, 1)
    assert found.dollars_saved == Decimal("0.300000")
    assert (of(unknown).dollars_saved, of(unknown).unpriced_calls) == (None, 1)


def test_money_is_not_rounded_before_the_end() -> None:
    """A million calls that saved one token each at $0.1 a million are a dime, and not a million zeros."""
    group = a_group(
        prompt_rate="0.1", cached_rate="", calls=1_000_000, pruned_calls=1_000_000, tokens_saved=1_000_000
    )
    assert of(group).dollars_saved == Decimal("0.100000")
    thirds = [a_group(prompt_rate="0.0000033", tokens_saved=100_000) for _ in range(3)]
    assert of(*thirds).dollars_saved == Decimal("0.000001")


def test_share_and_median_are_as_promised() -> None:
    """The share has 4 decimals, the middle is handed through, and a window without calls has neither."""
    found = of(a_group(calls=3), median="41000.5")
    assert (found.share_pruned, found.median_tokens_saved) == (Decimal("0.3333"), Decimal("41000.5"))
    empty = of()
    assert (empty.calls, empty.share_pruned, empty.median_tokens_saved) == (0, 0, None)
    assert empty.dollars_saved == Decimal("0.000000")


def test_every_key_is_there_under_its_name() -> None:
    """What is shown has the names and the forms that every door shares; what is absent is left out."""
    objective = Objective(billing_reset_day=31)
    assert of(a_group(calls=4), median="100000", objective=objective, days=7).fields() == {
        "window_days": 7,
        "calls_30d": 4,
        "pruned_calls_30d": 1,
        "share_pruned": 0.25,
        "total_tokens_saved": 100_000,
        "median_tokens_saved": 100_000,
        "dollars_saved_usd_30d": "0.300000",
        "reset_date": "2026-02-28",
        "next_reset_date": "2026-03-31",
        "unpriced_calls": 0,
    }
    assert of().fields().keys().isdisjoint({"median_tokens_saved", "reset_date", "next_reset_date"})


@pytest.mark.parametrize(
    ("today", "day", "last", "following"),
    [
        ("2026-03-14", 1, "2026-03-01", "2026-04-01"),
        ("2026-03-14", 14, "2026-03-14", "2026-04-14"),
        ("2026-03-14", 15, "2026-02-15", "2026-03-15"),
        ("2026-01-10", 31, "2025-12-31", "2026-01-31"),
        ("2026-12-31", 31, "2026-12-31", "2027-01-31"),
        ("2028-02-29", 30, "2028-02-29", "2028-03-30"),
        ("2026-02-27", 29, "2026-01-29", "2026-02-28"),
    ],
)
def test_billing_starts_anew_on_its_day_or_the_months_last(
    today: str, day: int, last: str, following: str
) -> None:
    """The last reset is today's or the newest before; in a month too short it is the month's last day."""
    found = billing_dates(date.fromisoformat(today), day)
    assert found == (date.fromisoformat(last), date.fromisoformat(following))


def test_rates_without_a_price_of_the_prompt_are_none() -> None:
    """A cached price alone prices nothing, and a text that is no price is none."""
    assert read_rates("", "0.3", None) is None
    assert read_rates("lots", None, None) is None
    assert read_rates("3", "x", "") == Rates(Decimal(3))
