"""The page of the docs that the economics yardstick writes."""

from dataclasses import replace

import pytest

from bench.economics import Call, Pauses, Rates
from bench.economics.losses import losses
from bench.economics.measure import Replayed, tally
from bench.economics.page import page

TEN = Rates("ten", "none", 10.0, write=1.25, read=0.1, ttl_minutes=5)


def session(policy: str, size_class: str, *calls: tuple[int, int]) -> Replayed:
    """One session whose calls ship so many tokens and share so many with the one before."""
    made = [
        Call(tokens, shared, index == 0 or shared >= calls[index - 1][0], True)
        for index, (tokens, shared) in enumerate(calls)
    ]
    return Replayed(policy, size_class, size_class, tuple(made))


WHOLE = ((40_000, 0), (60_000, 40_000), (62_000, 60_000))
LATE = ((40_000, 0), (30_000, 5_000), (32_000, 30_000))


def test_a_late_event_is_told_with_what_it_took_to_pay_back() -> None:
    """A session that became dearer names the call, what it removed and rewrote, and the calls it needed."""
    replayed = [session("none", "50-100k", *WHOLE[:2]), session("pinch", "50-100k", *LATE[:2])]
    (loss,) = losses(replayed, "pinch", TEN, Pauses())
    whole = 1.25 * 40_000 + (0.1 * 40_000 + 1.25 * 20_000)
    paid = 1.25 * 40_000 + (0.1 * 5_000 + 1.25 * 25_000)
    assert loss.change == pytest.approx(paid / whole - 1)
    (event,) = loss.breaks
    # 30,000 removed, 35,000 sent before behind the change: (1.15 x 35,000 / 30,000 - 1.25) / 0.1 calls.
    assert (event.call, event.removed, event.rewritten) == (2, 30_000, 35_000)
    assert abs(event.needed - 0.9166) < 1e-3


def test_a_loss_is_a_dearer_session_or_a_long_one_hardly_cheaper() -> None:
    """Neither a cheaper short session nor one that was never trimmed is told as a loss."""
    same = [session("none", "<50k", *WHOLE), session("pinch", "<50k", *WHOLE)]
    long = [session("none", ">100k", *WHOLE), session("pinch", ">100k", *WHOLE)]
    assert losses(same, "pinch", TEN, Pauses()) == []
    (hardly,) = losses([*long, session("read-once", ">100k", *LATE)], "pinch", TEN, Pauses())
    assert (hardly.change, hardly.rest, hardly.tokens) == (0.0, 32_000, 62_000)
    assert "32,000 of its 62,000 tokens" in hardly.why


def test_the_page_holds_every_row_the_losses_and_the_command() -> None:
    """The page shows each measured row by class, the sessions that lost and why, and its command."""
    replayed = [session("none", "50-100k", *WHOLE[:2]), session("pinch", "50-100k", *LATE[:2])]
    rows = tally(replayed, TEN, Pauses())
    found = losses(replayed, "pinch", TEN, Pauses())
    idle = replace(next(row for row in rows if row.policy == "none"), policy="idle")
    text = page([*rows, idle], found, "2 sessions", 50_000, "none expires", "python -m bench.economics")
    assert "## ten-class, 1 sessions of 50,000 to 100,000" in text
    assert "| `pinch` | +3% |" in text
    assert "Shipped as they came by `idle`." in text
    assert "call 2 of 2 removes 30,000 tokens and writes 5,000 again" in text
    assert "pays back in 1 calls, 0 follow" in text
    assert "```\npython -m bench.economics\n```" in text
