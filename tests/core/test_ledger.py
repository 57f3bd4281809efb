"""The ledger of a session, and when an event pays back."""

import pytest

from pinch_server.core.ledger import OPENED, pays_back
from pinch_server.core.limits import Limits


def test_calls_add_up() -> None:
    """What a call shares with the one before is read, the rest written, as it ships and as it came."""
    ledger = OPENED.after(3, 1_000, 1_000, 0).after(5, 900, 1_600, 400)
    assert (ledger.read, ledger.written) == (400, 1_500)
    assert (ledger.whole_read, ledger.whole_written) == (1_000, 1_600)
    assert (ledger.sent, ledger.whole_sent, ledger.end) == (900, 1_600, 5)


def test_excess() -> None:
    """The excess is the relative difference of the two prices; an empty ledger has none."""
    limits = Limits()
    assert OPENED.excess(limits) == 0
    ledger = OPENED.after(3, 1_000, 1_000, 0).after(5, 900, 1_600, 400)
    paid, whole = 0.1 * 400 + 1.25 * 1_500, 0.1 * 1_000 + 1.25 * 1_600
    assert ledger.excess(limits) == pytest.approx(paid / whole - 1)


def test_untrimmed_calls_cost_nothing_more() -> None:
    """A session without an event has no excess."""
    ledger = OPENED.after(3, 1_000, 1_000, 0).after(5, 1_500, 1_500, 1_000)
    assert ledger.excess(Limits()) == 0


@pytest.mark.parametrize(("calls", "pays"), [(10, False), (11, True), (20, True)])
def test_half_of_what_stood_behind_the_cut_pays_back_in_eleven_calls(calls: int, pays: bool) -> None:
    """At 1.25 and 0.1, removing half of what is sent anew takes 10.5 calls to pay back."""
    limits = Limits(cache_expected_calls=calls)
    assert pays_back(limits, removed=50_000, rewritten=100_000) is pays
