"""A call and the echo of its bytes, in an order that a die chooses, and what many such pairs come to."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bench.latency.payloads import Call, GrowingSession
from bench.latency.servers import Measured, echo_stub, pinch_stub
from pinch.v1 import prune_pb2 as pb

_FIRST_TOKENS: Final = 3_000
_FIRST_CALLS: Final = 20
_FIRST_SESSIONS: Final = 50


@dataclass(frozen=True, slots=True)
class Pair:
    """One call and its echo.

    Attributes:
        echo_ms: Time of the echo (milliseconds).
        call_ms: Time of the call (milliseconds).
        reply: The reply to the call.
    """

    echo_ms: float
    call_ms: float
    reply: pb.PruneResponse


@dataclass(frozen=True, slots=True)
class Times:
    """What many pairs come to; times in milliseconds.

    Attributes:
        calls: How many calls were timed.
        echo_p50: Middle of the echoes of the same bytes.
        p50: Middle of the calls.
        p99: What one call of a hundred took longer than; with fewer calls the slowest.
        echo_p99: The same of the echoes.
        ratio: Middle of each call's time against its own echo's.
    """

    calls: int
    echo_p50: float
    p50: float
    p99: float
    echo_p99: float
    ratio: float


def times_of(pairs: Sequence[Pair]) -> Times:
    """The middles and the slow ends of at least one pair."""
    echoes, calls = sorted(one.echo_ms for one in pairs), sorted(one.call_ms for one in pairs)
    return Times(
        calls=len(pairs),
        echo_p50=statistics.median(echoes),
        p50=statistics.median(calls),
        p99=calls[len(calls) * 99 // 100],
        echo_p99=echoes[len(echoes) * 99 // 100],
        ratio=statistics.median(one.call_ms / one.echo_ms for one in pairs),
    )


class Pairing:
    """Takes the time of calls and of their echoes, one after another.

    Args:
        send: A connection to the echo.
        prune: A connection to what is measured.
    """

    def __init__(
        self, send: Callable[[bytes], bytes], prune: Callable[[pb.PruneRequest], pb.PruneResponse]
    ) -> None:
        self._send = send
        self._prune = prune
        self._dice = random.Random(1)

    def take(self, call: Call) -> Pair:
        """Makes one call and one echo of its bytes."""
        timed: list[Callable[[], Any]] = [
            partial(self._send, call.payload),
            partial(self._prune, call.request),
        ]
        took = [0.0, 0.0]
        replies: list[Any] = [None, None]
        for which in self._dice.sample((0, 1), 2):
            began = time.perf_counter()
            replies[which] = timed[which]()
            took[which] = (time.perf_counter() - began) * 1e3
        return Pair(took[0], took[1], replies[1])


@contextmanager
def pairing(echo: Measured, pinch: Measured) -> Iterator[Pairing]:
    """Connections to both, which have had calls already: no timed one is to pay for a process's first."""
    with echo_stub(echo.address) as send, pinch_stub(pinch.address) as prune:
        pairs = Pairing(send, prune)
        session = GrowingSession(_FIRST_TOKENS, _FIRST_CALLS)
        for number in range(_FIRST_SESSIONS):
            for call in session.calls(f"first {number}", "body", "edits"):
                pairs.take(call)
        yield pairs
