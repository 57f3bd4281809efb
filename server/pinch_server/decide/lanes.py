"""Large conversations are worked on one after the other, and only those that can be answered in time.

Python does one thing at a time, however many threads ask. Sixteen large conversations side by side are all
ready when the last one is, too late for each of them; one after the other, the first is ready sixteen times
sooner. So the large ones queue in a lane, small ones pass them by, and one that could not be ready before its
deadline, behind those that came first, is turned away while its caller has time left to do without.

A large one that is worked on still has the interpreter, which a small one needs again and again. So it gives
way to each that comes, for a moment, and threads take shorter turns while it is worked on.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pinch_server.decide.call import Patience
from pinch_server.decide.newcomers import Newcomers
from pinch_server.decide.turns import TURNS
from pinch_server.ports import Clock

_LANES_FROM: Final = (64 * 1024, 4 * 1024 * 1024)
"""The least size of a conversation in each lane (bytes). A megabyte takes a tenth of a second: a call may
wait for those of its own lane, but those of the first wait for none of the second."""
_NEWEST_SHARE: Final = 0.2
"""What the last conversation counts for in the time that a byte takes: five of them make up most of it."""
_SPARE: Final = 1.5
"""Time there must be, to the time expected: an answer is also recorded and sent, and some take longer."""
_CROWD_SHARE: Final = 0.75
"""The share of the threads that may be held by large conversations which wait for long."""
_CROWD_SECONDS: Final = 0.5
"""How long one more may wait beyond that share, however patient its caller (seconds). Who waits holds a
thread: were all of them held, small conversations would wait for large ones after all."""
_GIVES_WAY_SECONDS: Final = 0.01
"""How long after it came a small call is given way to (seconds): most are answered in a tenth of that, and
one that waits for a disk or a model is not to be waited for."""


class NoTimeError(Exception):
    """A call that cannot be answered in time behind those that came before it."""

    def __init__(self) -> None:
        super().__init__("the calls before it leave no time for this one; try again in a moment")


class NobodyWaitsError(Exception):
    """The deadline of a call has passed before its work began, or its caller is gone."""

    def __init__(self) -> None:
        super().__init__("the deadline had passed before the work began")


class Lanes:
    """The lanes of one process. Shared by its threads.

    Args:
        clock: The time.
        shed: Counts a call that was turned away.
        threads: Calls that are answered at once, those that wait here included.
        newcomers: The calls as they come, to which large ones give way; None: there are none.
    """

    def __init__(
        self,
        clock: Clock,
        shed: Callable[[], object] = lambda: None,
        threads: int = 16,
        newcomers: Newcomers | None = None,
    ) -> None:
        self._clock = clock
        self._shed = shed
        self._crowd = max(2, int(threads * _CROWD_SHARE))
        self._newcomers = newcomers or Newcomers(clock)
        self._lanes = tuple(
            (least, _Lane(clock, self._is_crowded, self._newcomers)) for least in reversed(_LANES_FROM)
        )

    @contextmanager
    def place(self, size: int, patience: Patience) -> Iterator[Patience]:
        """Waits until a conversation may be worked on, which is at once for a small one.

        Args:
            size: Its size (bytes).
            patience: How long its caller waits.

        Yields:
            The patience that is left, with the place in the lane: it is left with the block at the latest.

        Raises:
            NoTimeError: It would not be ready in time; it is counted.
            NobodyWaitsError: Its caller left while it waited.
        """
        lane = next((lane for least, lane in self._lanes if size >= least), None)
        if lane is None:
            yield patience
            return
        self._newcomers.is_large()
        came = self._clock.monotonic()
        place = _Place(lane, size)
        try:
            place.enter(patience)
        except NoTimeError:
            self._shed()
            raise
        try:
            seconds = patience.seconds
            if seconds is not None:
                seconds -= self._clock.monotonic() - came
            yield Patience(seconds, patience.when_gone, place)
        finally:
            place.leave()

    def _is_crowded(self) -> bool:
        return sum(lane.held() for _, lane in self._lanes) >= self._crowd


class _Lane:
    """Those that wait, and the one that is worked on."""

    def __init__(self, clock: Clock, is_crowded: Callable[[], bool], newcomers: Newcomers) -> None:
        self._is_crowded = is_crowded
        self.newcomers: Final = newcomers
        self.lock: Final = threading.Lock()
        self.waiting: Final[deque[_Place]] = deque()
        self.running: _Place | None = None
        self.now: Final = clock.monotonic
        self.began = 0.0
        self._byte_seconds = 0.0
        """Time that a byte takes, 0 before it is known (seconds)."""

    def held(self) -> int:
        """How many threads it holds."""
        return len(self.waiting) + (self.running is not None)

    def seconds(self, place: "_Place") -> float:
        """What a conversation is expected to take from now on (seconds)."""
        held = place.held + (self.now() - self.began if place is self.running else 0.0)
        return max(0.0, place.size * self._byte_seconds - held)

    def ahead(self) -> float:
        """What those that came before are expected to take from now on (seconds)."""
        running = () if self.running is None else (self.running,)
        return sum(map(self.seconds, (*running, *self.waiting)))

    def takes(self, place: "_Place", seconds: float) -> bool:
        """Whether one more may wait that has so long (seconds)."""
        ahead = self.ahead()
        if (ahead + self.seconds(place)) * _SPARE > seconds:
            return False
        is_short = bool(self._byte_seconds) and ahead <= _CROWD_SECONDS
        return is_short or not self._is_crowded()

    def begin(self, place: "_Place") -> None:
        """Has one worked on, beside nobody else."""
        self.running = place
        self.began = self.now()
        place.may_go.set()
        TURNS.shorten()

    def end(self, place: "_Place") -> None:
        """Has the next one worked on."""
        place.held += self.now() - self.began
        self.running = None
        TURNS.restore()
        if self.waiting:
            self.begin(self.waiting.popleft())

    def learn(self, place: "_Place") -> None:
        """Learns from one that is done."""
        taken = place.held / place.size
        known = self._byte_seconds or taken
        self._byte_seconds = known + _NEWEST_SHARE * (taken - known)


class _Place:
    """One conversation in a lane.

    Attributes:
        size: Its size (bytes).
        held: How long it was worked on before it stepped aside (seconds).
        may_go: Set when it may be worked on, or need not wait any longer.
    """

    __slots__ = ("_gave_way", "_is_gone", "_lane", "_until", "held", "may_go", "size")

    def __init__(self, lane: _Lane, size: int) -> None:
        self.size: Final = size
        self.held = 0.0
        self.may_go: Final = threading.Event()
        self._lane = lane
        self._is_gone = False
        self._gave_way = 0.0
        self._until = threading.TIMEOUT_MAX

    def enter(self, patience: Patience) -> None:
        """Waits for its turn; one that nobody is ahead of has it at once, whatever is expected.

        Raises:
            NoTimeError: It would not be ready in time.
            NobodyWaitsError: Its caller left.
        """
        lane = self._lane
        # Absent a deadline, gRPC gives a time beyond any life.
        seconds = threading.TIMEOUT_MAX if patience.seconds is None else patience.seconds
        self._until = lane.now() + seconds
        with lane.lock:
            if lane.running is None:
                lane.begin(self)
                return
            if not lane.takes(self, seconds):
                raise NoTimeError
            own = lane.seconds(self)
            lane.waiting.append(self)
        if patience.when_gone is not None and not patience.when_gone(self._gone):
            self._gone()
        self.may_go.wait(min(seconds - own, threading.TIMEOUT_MAX))
        with lane.lock:
            if lane.running is self and not self._is_gone:
                return
            self._withdraw()
            raise NobodyWaitsError if self._is_gone else NoTimeError

    def leave(self) -> None:
        """Makes room for the next one, once."""
        lane = self._lane
        with lane.lock:
            if lane.running is self:
                lane.end(self)
                lane.learn(self)

    def give_way(self) -> None:
        """Lets the call that came last be answered first, for a moment, if that is a small one.

        All that it waits for in this way is never more than half of its time, and no more than its own caller
        has time left for.
        """
        lane = self._lane
        newest = lane.newcomers.newest
        if newest is None or newest.is_over:
            return
        now = lane.now()
        worked = self.held + now - lane.began - self._gave_way
        spare = self._until - now - lane.seconds(self) * _SPARE
        seconds = min(newest.came + _GIVES_WAY_SECONDS - now, worked - self._gave_way, spare)
        if seconds > 0:
            newest.wait(seconds)
            self._gave_way += lane.now() - now

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Lets others be worked on in the block, in which this one waits for something else."""
        lane = self._lane
        with lane.lock:
            is_mine = lane.running is self
            if is_mine:
                self.may_go.clear()
                lane.end(self)
        try:
            yield
        finally:
            if is_mine:
                self._come_back()

    def _come_back(self) -> None:
        lane = self._lane
        with lane.lock:
            if self._is_gone or lane.running is None:
                if not self._is_gone:
                    lane.begin(self)
                return
            # It came before all that wait.
            lane.waiting.appendleft(self)
        self.may_go.wait()

    def _gone(self) -> None:
        lane = self._lane
        with lane.lock:
            self._is_gone = True
            if lane.running is not self:
                self._withdraw()

    def _withdraw(self) -> None:
        lane = self._lane
        if lane.running is self:
            lane.end(self)
        elif self in lane.waiting:
            lane.waiting.remove(self)
        self.may_go.set()
