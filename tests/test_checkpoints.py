"""Checkpoints that are kept between calls."""

from pinch_server.core.checkpoint import Checkpoint, TrimmedResult
from pinch_server.core.plan import Action, Reason
from pinch_server.core.trimming import Step
from pinch_server.decide.checkpoints import RecentCheckpoints


def checkpoint(chars: int) -> Checkpoint:
    """A checkpoint that holds one text."""
    text = ("x" * chars,)
    return Checkpoint(
        (TrimmedResult(0, text, chars, Step.ELIDED, Action.ELIDED, Reason.OUTSIDE_WINDOW, 1, None),)
    )


def test_the_ones_used_longest_ago_make_room() -> None:
    """Beyond the bound the checkpoint that was not asked for the longest goes first."""
    kept = RecentCheckpoints(most_chars=3_000)
    kept.put(b"a", checkpoint(1_000))
    kept.put(b"b", checkpoint(1_000))
    assert kept.get(b"a") is not None
    kept.put(b"c", checkpoint(1_000))
    assert (kept.get(b"a") is None, kept.get(b"b") is None, kept.get(b"c") is None) == (False, True, False)


def test_what_is_larger_than_all_room_is_not_kept() -> None:
    """A checkpoint above the bound is left out, and the others stay."""
    kept = RecentCheckpoints(most_chars=3_000)
    kept.put(b"a", checkpoint(1_000))
    kept.put(b"b", checkpoint(10_000))
    assert kept.get(b"a") is not None
    assert kept.get(b"b") is None
