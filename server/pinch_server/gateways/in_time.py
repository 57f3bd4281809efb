"""Decisions that are made in time, or not at all: a gateway's request goes on as it came when one is late."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from concurrent.futures import wait as wait_for
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from pinch_server.core.decision import Outcome
from pinch_server.core.moments import unix_micros
from pinch_server.decide import (
    Decided,
    Decider,
    InvalidCallError,
    Lanes,
    NobodyWaitsError,
    NoTimeError,
    Patience,
    PruneCall,
)
from pinch_server.faults import told
from pinch_server.ports import Clock

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


class Untold(StrEnum):
    """Why there is no decision."""

    LATE = "late"
    """It would have come after the deadline."""
    OVERLOADED = "overloaded"
    """As many as may be were waiting already, or too many for it to be ready in time."""
    FAILED = "failed"
    """Something broke inside; the log says what."""


class _TooLate(Exception):
    """Nobody waits for the decision any more."""


def reject(decider: Decider, decision_id: str, clock: Clock) -> None:
    """Reports that a decision came to nothing."""
    decider.report(Outcome(decision_id, unix_micros(clock.now()), "REJECTED"))


class Turn:
    """One gateway's request while its decision is made; work that gets it decides through it.

    Args:
        decider: The use case.
        lanes: Where large conversations wait for each other.
        clock: The time.
        seconds: Time for all of it (seconds).
        tenant: Whose request it is.
    """

    def __init__(self, decider: Decider, lanes: Lanes, clock: Clock, seconds: float, tenant: str) -> None:
        self._decider = decider
        self._lanes = lanes
        self._clock = clock
        self._tenant = tenant
        self._until = clock.monotonic() + seconds
        self._settled = threading.Lock()
        self._decision_id: str | None = None

    @property
    def remaining(self) -> float:
        """Time that is left (seconds), 0 when none is."""
        return max(0.0, self._until - self._clock.monotonic())

    def settle(self) -> bool:
        """Says how the request goes on; True for the first alone who says it, be it work or deadline."""
        return self._settled.acquire(blocking=False)

    def decide(self, call: PruneCall, size: int) -> Decided:
        """Plans one call and records the decision, unless the time is over before that.

        Args:
            call: The call.
            size: Of the body that it came in, whatever its form (bytes).

        Raises:
            InvalidCallError: The call breaks its contract.
            NoTimeError: It would not be ready in time.
        """

        def answered(_decided: Decided) -> None:
            if self._settled.locked() or not self.remaining:
                raise _TooLate

        # A body or a header may say much about a call, but not whose it is.
        own = replace(call, context=replace(call.context, tenant=self._tenant))
        with self._lanes.place(size, Patience(self.remaining)) as patience:
            decided = self._decider.decide(own, patience, answered)
        self._decision_id = decided.decision_id
        return decided

    def take_back(self) -> None:
        """Reports a decision that was recorded as come to nothing: the request went on as it came."""
        if self._decision_id is not None:
            reject(self._decider, self._decision_id, self._clock)


class Running(Generic[_T]):
    """Work that was begun for a gateway's request."""

    def __init__(self, turn: Turn, future: "Future[_T | Untold] | None") -> None:
        self._turn = turn
        self._future = future

    def result(self) -> _T | Untold:
        """What came of it, or why nothing did; waits no longer than its time.

        Raises:
            InvalidCallError: The call breaks its contract.
        """
        if self._future is None:
            return Untold.OVERLOADED
        try:
            return self._future.result(self._turn.remaining)
        except NotYet:
            return self._given_up(self._future)

    async def awaited(self) -> _T | Untold:
        """The same, for an event loop.

        Raises:
            InvalidCallError: The call breaks its contract.
        """
        if self._future is None:
            return Untold.OVERLOADED
        waiting = asyncio.wrap_future(self._future)
        done, _ = await asyncio.wait({waiting}, timeout=self._turn.remaining)
        if done:
            return waiting.result()
        # What is not looked at may fail without a word.
        waiting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return self._given_up(self._future)

    def _given_up(self, future: "Future[_T | Untold]") -> _T | Untold:
        if self._turn.settle():
            future.cancel()
            return Untold.LATE
        # Work settled it a moment ago: its answer is on its way.
        return future.result()


class InTime:
    """Threads that make decisions for gateways.

    Args:
        decider: The use case.
        lanes: Where large conversations wait for each other.
        clock: The time.
        threads: Decisions made at once.
        most: Decisions that are made or wait at once; one more is none.
    """

    def __init__(self, decider: Decider, lanes: Lanes, clock: Clock, threads: int, most: int) -> None:
        self._decider = decider
        self._lanes = lanes
        self._clock = clock
        self._most = most
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="pinch-gateway")
        self._open: set[Future[Any]] = set()
        self._lock = threading.Lock()

    def begin(self, work: Callable[[Turn], _T], seconds: float, tenant: str = "") -> Running[_T]:
        """Begins work on a request; only its decision may wait or break.

        Args:
            work: What is done on a thread: it decides by the turn that it gets.
            seconds: Time for it, waiting for a thread included (seconds).
            tenant: Whose request it is.
        """
        turn = Turn(self._decider, self._lanes, self._clock, seconds, tenant)
        with self._lock:
            if len(self._open) >= self._most:
                return Running(turn, None)
            try:
                future = self._pool.submit(_worked, work, turn)
            except RuntimeError:
                # The pool has been closed: the service stops.
                return Running(turn, None)
            self._open.add(future)
        future.add_done_callback(self._ended)
        return Running(turn, future)

    def unheard(self, decision_id: str) -> None:
        """Reports a decision whose answer nobody waited for: the request went on as it came."""
        reject(self._decider, decision_id, self._clock)

    def close(self, seconds: float) -> None:
        """Begins nothing more, and waits for what was begun, at most so long (seconds)."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            left = tuple(self._open)
        wait_for(left, seconds)

    def _ended(self, future: "Future[Any]") -> None:
        with self._lock:
            self._open.discard(future)


def _worked(work: Callable[[Turn], _T], turn: Turn) -> _T | Untold:
    try:
        done = work(turn)
    except (_TooLate, NobodyWaitsError):
        return Untold.LATE
    except NoTimeError:
        return Untold.OVERLOADED
    except InvalidCallError:
        raise
    except Exception as error:  # noqa: BLE001 the request is worth more than the pruning of it
        _LOG.error("a gateway's request could not be pruned: %s", told(error))
        turn.take_back()
        return Untold.FAILED
    if not turn.settle():
        turn.take_back()
        return Untold.LATE
    return done
