"""What calls teach the gate."""

import pytest

from pinch_server.core.extraction.economics import GOAL_TOKENS, HAIKU, TYPICAL_TOKENS, call_cost
from pinch_server.core.extraction.learning import Learned, share_in_seat


@pytest.mark.parametrize(
    ("tokens", "removed", "share"),
    [
        (0, 0, 0.3),
        (1_499, 1_499, 0.3),
        (80_000, 40_000, 0.5 * 0.5 + 0.5 * 0.3),
        (10_000_000, 10_000_000, 0.60),
        (80_000, 0, 0.15),
    ],
)
def test_the_share_is_the_classs_until_there_is_evidence(tokens: int, removed: int, share: float) -> None:
    """The expected share goes from what its class had elsewhere to what was observed, and never over 0.60."""
    assert Learned().observed(tokens, removed, tokens).removed_share(0.3) == pytest.approx(share)


def test_a_classs_own_share_may_be_more_than_is_ever_learned() -> None:
    """Only what is learned is held to 0.60."""
    assert Learned().removed_share(0.655) == 0.655


def test_a_few_refusals_do_not_close_the_gate_for_good() -> None:
    """Five long results whose filters were refused leave more than half of what was expected."""
    learned = Learned()
    for _ in range(5):
        learned = learned.observed(8_000, 0, 8_000)
    assert learned.removed_share(0.3) > 0.15


def test_exploring_ends_with_evidence_with_its_number_and_with_slow_models() -> None:
    """A session explores twice, before there is evidence, and not with a model whose median call is slow."""
    new = Learned()
    assert new.may_explore(0)
    assert new.may_explore(1)
    assert not new.may_explore(2)
    assert not new.observed(1_500, 0, 0).may_explore(0)
    assert not new.called(0.01, 6_000.0, 0.01).may_explore(0)
    assert new.called(0.01, 5_999.0, 0.01).may_explore(0)


def test_averages_of_calls() -> None:
    """The time of a call is the median of the last sixty-four; without prices its cost is the mean of all."""
    learned = Learned()
    for index in range(100):
        learned = learned.called(0.002 if index % 2 else 0.004, float(index), 0.0)
    assert learned.typical_usd(None) == pytest.approx(0.003)
    assert learned.typical_usd(HAIKU) == pytest.approx(0.003)
    assert learned.median_ms == pytest.approx(67.5)
    assert (Learned().typical_usd(HAIKU), Learned().median_ms) == (None, None)


def test_calls_about_long_results_do_not_make_those_about_short_ones_dear() -> None:
    """What calls cost is laid against the list prices of their own sizes, a repair against none."""
    learned = Learned()
    for tokens in (5_000, 8_000, 20_000):
        learned = learned.called(call_cost(tokens, GOAL_TOKENS, HAIKU), 1.0, call_cost(tokens, 200, HAIKU))
    expected = call_cost(TYPICAL_TOKENS, GOAL_TOKENS, HAIKU)
    assert learned.typical_usd(HAIKU) == pytest.approx(expected)
    assert call_cost(8_000, 200, HAIKU, learned.typical_usd(HAIKU)) == pytest.approx(
        call_cost(8_000, 200, HAIKU)
    )
    listed = learned.listed_usd
    assert learned.called(listed, 1.0, 0.0).typical_usd(HAIKU) == pytest.approx(2 * expected)


def test_how_often_trims_are_repeated() -> None:
    """Twelve times before there is evidence, then ever more as was seen, and never more than 215."""
    assert Learned().mean_repeats == 12
    assert Learned().sent(20, 20 * 30).mean_repeats == 21
    assert Learned().sent(20, 0).mean_repeats == 6
    assert Learned().sent(1, 10**9).mean_repeats == 215


@pytest.mark.parametrize(
    ("of_class", "left", "share"),
    [(0.0, 0.1, 0.0), (0.3378, 0.1, 0.45), (0.655, 0.0, 0.9696), (1.0, 0.25, 0.75), (0.4, 1.5, 0.0)],
)
def test_what_is_sent_is_no_longer_than_the_excerpt(of_class: float, left: float, share: float) -> None:
    """A class of which filters removed half as much as accepted ones did is accepted every other time."""
    assert share_in_seat(of_class, left) == pytest.approx(share, abs=1e-4)


def test_what_is_shorter_than_the_excerpts_is_learned() -> None:
    """0.12 before there is evidence, and then what texts were shorter than the excerpts in their place."""
    assert Learned().beyond_share == 0.12
    assert Learned().observed(8_000, 7_500, 1_000).beyond_tokens == 500
    assert Learned().observed(8_000, 6_500, 1_000).beyond_tokens == 0
    learned = Learned()
    for _ in range(10):
        learned = learned.observed(8_000, 7_500, 1_000)
    assert learned.beyond_share == pytest.approx((0.12 + 0.5) / 2)
