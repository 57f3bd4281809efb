"""Policies of the yardsticks that order by named signals."""

import pytest

from bench.recall.by_signals import names
from bench.recall.policies import PolicyError, find_policy
from pinch_server.core.signals import Signal


def test_every_signal_can_be_switched() -> None:
    """Each signal has a policy without it and one of it alone, beside the one of all."""
    assert len(names()) == 1 + 2 * len(Signal)
    assert [find_policy(name).name for name in names()] == names()


def test_an_unknown_signal_is_named() -> None:
    """A signal that does not exist is refused in words."""
    with pytest.raises(PolicyError, match="pinch-no-luck"):
        find_policy("pinch-no-luck")
