"""Pinch ordered by named signals: all of them, all but one, or one alone."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Final

from bench.recall.ours import Pinch, shipped_limits
from pinch_server.core.signals import ALL, Signal, order_by

ALL_NAME: Final = "pinch-signals"
_WITHOUT: Final = "pinch-no-"
_ALONE: Final = "pinch-only-"


def _pinch(signals: Collection[Signal]) -> Pinch:
    return Pinch(shipped_limits, partial(order_by, signals=signals))


def names() -> list[str]:
    """Every name that `find_by_signals` knows."""
    return [ALL_NAME, *(f"{start}{signal}" for start in (_WITHOUT, _ALONE) for signal in Signal)]


def find_by_signals(name: str) -> Pinch | None:
    """Pinch at its shipped limits in the order of some signals; None where the name is of no such policy.

    Args:
        name: `pinch-signals`, `pinch-no-size`, `pinch-only-size` and so on.
    """
    if name == ALL_NAME:
        return _pinch(ALL)
    for start in (_WITHOUT, _ALONE):
        signal = name.removeprefix(start)
        if name.startswith(start) and signal in set(Signal):
            chosen = {Signal(signal)}
            return _pinch(ALL - chosen if start == _WITHOUT else chosen)
    return None
