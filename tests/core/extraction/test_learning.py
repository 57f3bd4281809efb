"""What calls teach the gate."""

import pytest

from pinch_server.core.extraction.learning import Learned


@pytest.mark.parametrize(
    ("tokens", "removed", "share"),
    [
        (0, 0, 0.12),
        (1_499, 1_499, 0.12),
        (8_000, 4_000, 0.5 * 0.5 + 0.5 * 0.12),
        (1_000_000, 1_000_000, 0.60),
        (8_000, 0, 0.06),
    ],
)
def test_the_share_is_the_prior_until_there_is_evidence(tokens: int, removed: int, share: float) -> None:
    """The expected share goes from 0.12 towards what was observed, by weight, and never over 0.60."""
    assert Learned().observed(tokens, removed).removed_share() == pytest.approx(share)


def test_a_classs_share_gives_way_to_what_this_writer_removes() -> None:
    """The share of a class is what was measured elsewhere, until there is evidence of one's own."""
    assert Learned().removed_share(0.655) == 0.655
    learned = Learned().observed(8_000, 4_000)
    assert learned.removed_share(0.028) == pytest.approx(0.5 * 0.5 + 0.5 * 0.028)
    assert learned.removed_share(0.655) == pytest.approx(0.5 * 0.5 + 0.5 * 0.655)


def test_exploring_ends_with_evidence_with_its_number_and_with_slow_models() -> None:
    """A session explores twice, before there is evidence, and not with a model whose median call is slow."""
    new = Learned()
    assert new.may_explore(0)
    assert new.may_explore(1)
    assert not new.may_explore(2)
    assert not new.observed(1_500, 0).may_explore(0)
    assert not new.called(0.01, 6_000.0).may_explore(0)
    assert new.called(0.01, 5_999.0).may_explore(0)


def test_averages_of_calls() -> None:
    """The price is the mean of all calls, the time the median of the last sixty-four."""
    learned = Learned()
    for index in range(100):
        learned = learned.called(0.002 if index % 2 else 0.004, float(index))
    assert learned.call_usd == pytest.approx(0.003)
    assert learned.median_ms == pytest.approx(67.5)
    assert (Learned().call_usd, Learned().median_ms) == (None, None)
