"""Points at which long work may let others go first."""

from collections.abc import Callable

GiveWay = Callable[[], object]
"""Called between two pieces of the work; returns when the next may begin."""


def on() -> None:
    """Goes on at once."""
