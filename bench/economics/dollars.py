"""What a replayed session costs through a provider's prompt cache."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.economics.rates import Rates
from bench.economics.replay import Call
from pinch_server.core.cache_model import input_dollars


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long people keep an agent waiting.

    Attributes:
        share: The share of user turns that come after a pause.
        minutes: How long it is; a cache whose entries live shorter is cold (minutes).
        seed: Of the choice of turns, which is the same for every policy.
    """

    share: float = 0.0
    minutes: float = 60.0
    seed: int = 0


def call_dollars(calls: Sequence[Call], rates: Rates, session: str, pauses: Pauses) -> list[float]:
    """The input price of each call of a session.

    What the call shares with the one before is read from the cache, the rest is written to it. After a pause
    longer than the cache lives, or below the minimum prefix, nothing is read.

    Args:
        calls: The session, replayed.
        rates: Who charges.
        session: The session's name, which picks the pauses.
        pauses: When people pause.

    Returns:
        USD for each call.
    """
    draw = random.Random(f"{pauses.seed}:{session}")
    dollars = []
    for call in calls:
        is_paused = call.follows_user and draw.random() < pauses.share
        is_cold = is_paused and pauses.minutes > rates.ttl_minutes
        dollars.append(input_dollars(rates.prices, call.tokens, call.shared_tokens, is_cold=is_cold))
    return dollars
