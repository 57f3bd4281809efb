"""What trims are worth: the worked numbers of the providers' price lists."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.pricing import CacheContext, CacheState, Economics, Trimmed, economics
from pinch_server.core.rates import Rates

SONNET_5 = Rates(Decimal(2), Decimal("0.2"), Decimal("2.5"))
ONE_DOLLAR = {
    "w1.25 r.10": Rates(Decimal(1), Decimal("0.1"), Decimal("1.25")),
    "1h w2 r.10": Rates(Decimal(1), Decimal("0.1"), Decimal(2)),
    "w1.25 r.05": Rates(Decimal(1), Decimal("0.05"), Decimal("1.25")),
    "w1.25 r.025": Rates(Decimal(1), Decimal("0.025"), Decimal("1.25")),
    "w1 r.10": Rates(Decimal(1), Decimal("0.1"), Decimal(1)),
    "w1 r.25": Rates(Decimal(1), Decimal("0.25"), Decimal(1)),
    "w1 r.5": Rates(Decimal(1), Decimal("0.5"), Decimal(1)),
}


def trim(removed: int, sent_behind: int) -> Trimmed:
    """A first event: so much removed of what was sent behind the first change."""
    return Trimmed(sent=removed, rewritten=sent_behind - removed)


@pytest.mark.parametrize(
    ("state", "calls", "dollars"),
    [
        (CacheState.WARM, 20, "0.011"),
        (CacheState.WARM, 10, "-0.049"),
        (CacheState.COLD, 20, "0.195"),
    ],
)
def test_sonnet_5(state: CacheState, calls: int, dollars: str) -> None:
    """120k tokens cached, the first change at 40k, 30k removed: worth it for 20 calls more, not for 10."""
    assert economics(SONNET_5, state, calls, trim(30_000, 80_000)).expected_saving_usd == Decimal(dollars)


def test_no_fee_for_writing() -> None:
    """200k cached, the first change at 150k, 20k removed, five calls to follow: 15,000 tokens lost."""
    worth = economics(ONE_DOLLAR["w1 r.10"], CacheState.WARM, 5, trim(20_000, 50_000))
    assert worth.expected_saving_usd * 1_000_000 == -15_000


@pytest.mark.parametrize(
    ("rates", "calls"),
    [
        ("w1.25 r.10", (33.5, 10.5, 1.9)),
        ("1h w2 r.10", (56, 18, 3.75)),
        ("w1.25 r.05", (71, 23, 5)),
        ("w1.25 r.025", (146, 48, 11.25)),
        ("w1 r.10", (26, 8, 1.25)),
        ("w1 r.25", (8, 2, 0)),
        ("w1 r.5", (2, 0, 0)),
    ],
)
def test_break_even(rates: str, calls: tuple[float, float, float]) -> None:
    """The calls needed when a quarter, a half and four fifths of what stood behind the cut are removed."""
    for removed, needed in zip((25_000, 50_000, 80_000), calls, strict=True):
        worth = economics(ONE_DOLLAR[rates], CacheState.WARM, 0, trim(removed, 100_000))
        assert worth.break_even_calls == pytest.approx(needed, abs=0.05)


@given(
    st.sampled_from(sorted(ONE_DOLLAR)),
    st.integers(0, 200_000),
    st.integers(0, 200_000),
    st.integers(0, 100),
)
def test_the_formula(name: str, removed: int, rest: int, calls: int) -> None:
    """A warm event is worth R (w + K r) - (w - r) S, and exactly nothing at its break-even."""
    rates = ONE_DOLLAR[name]
    worth = economics(rates, CacheState.WARM, calls, trim(removed, removed + rest))
    earned = removed * (rates.write + calls * rates.read) - (rates.write - rates.read) * (removed + rest)
    assert worth.expected_saving_usd * 1_000_000 == earned
    assert worth.induced_cache_write_usd * 1_000_000 == (rates.write - rates.read) * rest
    if worth.break_even_calls is None:
        assert removed == 0 < rest
    elif calls >= worth.break_even_calls:
        assert worth.expected_saving_usd >= 0
    else:
        assert worth.expected_saving_usd < 0


def test_old_trims_go_on_saving() -> None:
    """What earlier calls trimmed saves the price of reading it in this call and in each that follows."""
    worth = economics(SONNET_5, CacheState.WARM, 9, Trimmed(kept_out=100_000))
    assert worth == Economics(Decimal("0.2"), Decimal(0), 0.0)


def test_what_was_never_sent_costs_nothing_to_trim() -> None:
    """A result that is capped before the model has seen it saves its writing, and induces none."""
    worth = economics(SONNET_5, CacheState.WARM, 0, Trimmed(fresh=10_000))
    assert worth == Economics(Decimal("0.025"), Decimal(0), 0.0)


def test_without_a_cache_every_call_pays_for_every_token() -> None:
    """Where there is no cache, each call saves the full price of what is trimmed."""
    worth = economics(SONNET_5, CacheState.NONE, 4, Trimmed(kept_out=5_000, sent=5_000, rewritten=50_000))
    assert worth == Economics(Decimal("0.1"), Decimal(0), 0.0)


@pytest.mark.parametrize(
    ("cache", "state"),
    [
        (CacheContext(), CacheState.WARM),
        (CacheContext(last_call_unix_micros=0), CacheState.WARM),
        (CacheContext(last_call_unix_micros=0, ttl_seconds=300), CacheState.WARM),
        (CacheContext(last_call_unix_micros=0, ttl_seconds=299), CacheState.COLD),
        (CacheContext(CacheState.NONE, 0, 1), CacheState.NONE),
    ],
)
def test_the_state_of_the_cache(cache: CacheContext, state: CacheState) -> None:
    """The caller's word counts, else the age of the last call; with neither the cache is taken as warm."""
    assert cache.state_at(300_000_000) is state
