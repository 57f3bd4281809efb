"""Having filters written: each content once at a time, before the reply or after it, and frozen."""

import logging
import queue
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import count
from threading import Event, Lock, Thread
from typing import Final, Protocol

from pinch_server.core.extraction.considered import Job
from pinch_server.core.extraction.form import MOST_CHARS
from pinch_server.core.extraction.frozen import Claim, FrozenText
from pinch_server.core.extraction.learning import Learned
from pinch_server.core.extraction.record import FilterRecord
from pinch_server.core.extraction.slugs import LONGER_THAN_ANY, NOT_KEPT, OTHER_REFUSAL, REFUSALS
from pinch_server.extract.model import DEADLINE
from pinch_server.extract.outcome import Refused, Written
from pinch_server.extract.recording import NOTHING_SAID, MadeWith, record_of
from pinch_server.extract.remembered import MOST_FROZEN, Recent

SIDE_BY_SIDE: Final = 4
"""Filters that are written at once for one call that waits, the first of them alone before the others."""
_CLAIM_MARGIN_SECONDS: Final = 10.0
"""How much longer a claim holds than a filter may take (seconds)."""
_LOOK_SECONDS: Final = 0.1
"""How often is looked whether another process is done, while a caller waits (seconds)."""
_LOOKS_A_CLAIM: Final = 3
"""After how many looks is asked whether the other's claim still holds."""
RETRY_SECONDS: Final = 60.0
"""How long a content is left alone when nobody could be asked about it (seconds)."""
_LOG: Final = logging.getLogger(__name__)

_UNKEEPABLE: Final = re.compile("[\0\ud800-\udfff]")
# A program that ran out of memory would do so again: to ask for it again is to pay for it again.
_PASSING: Final = ("model call failed", "no model", "sandbox unavailable")


_ELSEWHERE: Final = FrozenText(None, NOT_KEPT)
"""What a flight ends with whose text another process is writing."""


class Writer(Protocol):
    """Writes a filter for one result and runs it; shared by threads, and never raises."""

    def write(self, job: Job, seconds: float) -> Written | Refused:
        """Shortens one result.

        Args:
            job: The result, and what it was called for.
            seconds: Time for all of it (seconds).
        """
        ...


class FreezesTexts(Protocol):
    """Keeps texts of filters; the first of a key stays."""

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, FrozenText] | None:
        """Those that are kept; None when nobody tells."""
        ...

    def claim(self, key: bytes, seconds: float) -> Claim | None:
        """Claims the writing of a text for a while, unless another process has; None when nobody tells."""
        ...

    def freeze(self, key: bytes, frozen: FrozenText, claim: Claim) -> FrozenText | None:
        """Keeps a text unless there is one, and ends the claim; gives the one kept, None for none."""
        ...

    def give_back(self, claim: Claim) -> None:
        """Ends a claim under which nothing was written."""
        ...


class FilteringObserver(Protocol):
    """Counts filters."""

    def filter_written(self, record: FilterRecord) -> None:
        """Counts a result that came back."""
        ...

    def extraction_queue_full(self) -> None:
        """Counts a result that no filter is written for because too many wait."""
        ...


class Filtering:
    """Has filters written. One per process, closed once.

    Args:
        writer: Writes them.
        store: Keeps what they left.
        observer: Counts.
        monotonic: A clock that never goes back (seconds).
        seconds: Time for one result (seconds).
        most_waiting: Results that wait for a filter after their replies.
        shares: Whether a rewritten text is for all sessions of its tenant, since its original is kept.
        made_with: What filters are written with, for the record.
        log: Takes each record.
    """

    def __init__(
        self,
        writer: Writer,
        store: FreezesTexts,
        observer: FilteringObserver,
        monotonic: Callable[[], float],
        *,
        seconds: float,
        most_waiting: int,
        shares: bool,
        made_with: MadeWith = NOTHING_SAID,
        log: Callable[[FilterRecord], None] = lambda _: None,
    ) -> None:
        self._made_with = made_with
        self._log = log
        self._writer = writer
        self._store = store
        self._observer = observer
        self._monotonic = monotonic
        self._seconds = seconds
        self._shares = shares
        self._lock = Lock()
        self._learned = Learned()
        self._flights: dict[bytes, Future[FrozenText]] = {}
        self._left_alone: Recent[bytes, float] = Recent(MOST_FROZEN)
        self.known: Final[Recent[bytes, FrozenText]] = Recent(MOST_FROZEN)
        """The texts that this process knows of, by their keys."""
        self._queue: queue.Queue[Job | None] = queue.Queue(most_waiting)
        self._pool = ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="pinch-filters")
        self._thread: Thread | None = None
        self._is_closed = False
        self._closing = Event()

    @property
    def learned(self) -> Learned:
        """What the calls so far have taught."""
        return self._learned

    def note_sent(self, trims: int, repeats: int) -> None:
        """Notes how many results a call sends trimmed, for the first time and again."""
        with self._lock:
            self._learned = self._learned.sent(trims, repeats)

    def is_under_way(self, job: Job) -> bool:
        """Whether a filter for this content is being written, waits, or was given up a moment ago."""
        since = self._left_alone.get(job.session_key)
        if since is not None and self._monotonic() - since < RETRY_SECONDS:
            return True
        with self._lock:
            return job.session_key in self._flights

    def later(self, jobs: Sequence[Job]) -> None:
        """Has filters written when there is time; those that do not fit into the queue are left out."""
        for job in jobs:
            with self._lock:
                if self._is_closed or job.session_key in self._flights:
                    continue
                flight: Future[FrozenText] = Future()
                self._flights[job.session_key] = flight
                if self._thread is None:
                    self._thread = Thread(target=self._work, name="pinch-filters-later", daemon=True)
                    self._thread.start()
            try:
                self._queue.put_nowait(job)
            except queue.Full:
                self._observer.extraction_queue_full()
                self._land(job, flight, FrozenText(None, NOT_KEPT), is_final=False)

    def now(self, jobs: Sequence[Job], seconds: float) -> list[FrozenText | None]:
        """Has filters written while a caller waits; None for those that take longer.

        Args:
            jobs: The results.
            seconds: Time for all of them (seconds).
        """
        until = self._monotonic() + seconds
        started: list[Future[FrozenText] | None] = []
        for number, job in enumerate(jobs):
            left = until - self._monotonic()
            flight = self._started(job, left) if left > 0 else None
            started.append(flight)
            if number == 0 and flight is not None:
                # Alone, so that those behind it read the prefix that it has the provider cache.
                wait([flight], max(0.0, left))
        while True:
            wait([flight for flight in started if flight is not None], max(0.0, until - self._monotonic()))
            left = until - self._monotonic()
            # A flight behind a reply that was joined here may end because another process is at it.
            given_up = [at for at, flight in enumerate(started) if _is_elsewhere(flight)]
            if not given_up or left <= 0 or self._is_closed:
                break
            for at in given_up:
                started[at] = self._started(jobs[at], left)
        return [flight.result() if flight is not None and flight.done() else None for flight in started]

    def idle(self, seconds: float) -> bool:
        """Waits until no filter is under way or put off; says whether that came about.

        Args:
            seconds: How long to wait (seconds).
        """
        with self._lock:
            flights = list(self._flights.values())
        return not wait(flights, seconds).not_done

    def close(self) -> None:
        """Ends the threads; what waits is given up."""
        with self._lock:
            self._is_closed = True
            self._closing.set()
            thread = self._thread
        self._pool.shutdown(wait=True, cancel_futures=True)
        if thread is not None:
            while thread.is_alive():
                try:
                    self._queue.put_nowait(None)
                except queue.Full:
                    try:
                        self._queue.get_nowait()
                    except queue.Empty:
                        continue
                    continue
                thread.join(self._seconds + 1)
                return

    def _started(self, job: Job, seconds: float) -> "Future[FrozenText] | None":
        """The flight of a content: the one under way, or a new one."""
        with self._lock:
            flight = self._flights.get(job.session_key)
            if flight is not None:
                return flight
            if self._is_closed:
                return None
            flight = self._flights[job.session_key] = Future()
        try:
            # Who waits behind others may be gone when its turn comes: nobody pays for that.
            until = self._monotonic() + min(seconds, self._seconds)
            self._pool.submit(self._fly, job, flight, until, is_waited_for=True)
        except RuntimeError:
            self._land(job, flight, FrozenText(None, NOT_KEPT), is_final=False)
        return flight

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            with self._lock:
                flight = self._flights.get(job.session_key)
            if flight is not None and not self._is_closed:
                self._fly(job, flight, self._monotonic() + self._seconds)

    def _fly(
        self, job: Job, flight: "Future[FrozenText]", until: float, *, is_waited_for: bool = False
    ) -> None:
        frozen, is_final = FrozenText(None, OTHER_REFUSAL), False
        try:
            frozen, is_final = self._frozen(job, until, is_waited_for=is_waited_for)
        except Exception as error:  # noqa: BLE001 whatever fails, those who wait are told
            _LOG.error("a filter failed with %s", type(error).__name__)
        finally:
            self._land(job, flight, frozen, is_final=is_final)

    def _land(self, job: Job, flight: "Future[FrozenText]", frozen: FrozenText, *, is_final: bool) -> None:
        if not is_final:
            self._left_alone.put(job.session_key, self._monotonic())
        with self._lock:
            self._flights.pop(job.session_key, None)
        flight.set_result(frozen)

    def _frozen(self, job: Job, until: float, *, is_waited_for: bool) -> tuple[FrozenText, bool]:
        """What is kept of a job, and whether it need not be left alone for a while."""
        others = 0
        for look in count():
            found = self._store.find([job.shared_key, job.session_key])
            if found is None:
                break
            known = self._known(job, found)
            if known is not None:
                return known, True
            left = until - self._monotonic()
            if left <= 0:
                return _ELSEWHERE, True
            if look % _LOOKS_A_CLAIM == 0:
                claim = self._store.claim(job.shared_key, self._seconds + _CLAIM_MARGIN_SECONDS)
                if claim is None:
                    break
                # Another claim than before: what was waited for came to nothing that this session may have.
                if claim.holds or others not in (0, claim.since):
                    return self._claimed(job, left, claim)
                others = claim.since
            # Another process is at it. Nobody waits for a deferred one: the session's next call looks again.
            if not is_waited_for or self._closing.wait(min(_LOOK_SECONDS, left)):
                return _ELSEWHERE, True
        return FrozenText(None, NOT_KEPT), False

    def _known(self, job: Job, found: Mapping[bytes, FrozenText]) -> FrozenText | None:
        """What is kept of a job; remembered."""
        known = found.get(job.session_key) or found.get(job.shared_key)
        if known is not None:
            self.known.put(job.session_key, known)
        return known

    def _claimed(self, job: Job, seconds: float, claim: Claim) -> tuple[FrozenText, bool]:
        try:
            # Who had the claim may have ended it after the look and before this one was made.
            known = self._known(job, self._store.find([job.shared_key, job.session_key]) or {})
            if known is not None:
                self._store.give_back(claim)
                return known, True
            outcome = self._writer.write(job, seconds)
        except BaseException:
            self._store.give_back(claim)
            raise
        self._learn(job, outcome)
        if isinstance(outcome, Written):
            made = _made(outcome.text)
            is_for_all = made.text is not None and (outcome.is_deletion_only or self._shares)
            key = job.shared_key if is_for_all else job.session_key
        else:
            made, key = FrozenText(None, refusal_of(outcome)), job.session_key
            if made.reason in _PASSING:
                # It says nothing about the content: another time it may be written.
                self._store.give_back(claim)
                self._record(job, outcome, made.reason)
                return made, False
        kept = self._store.freeze(key, made, claim)
        # One that nobody has on record is never sent: it is not counted among those that may be.
        self._record(job, outcome, made.reason if kept is not None else NOT_KEPT)
        if kept is None:
            return FrozenText(None, NOT_KEPT), False
        self.known.put(job.session_key, kept)
        return kept, True

    def _record(self, job: Job, outcome: Written | Refused, result: str) -> None:
        record = record_of(job, outcome, result, self._made_with)
        self._observer.filter_written(record)
        self._log(record)

    def _learn(self, job: Job, outcome: Written | Refused) -> None:
        with self._lock:
            listed = 0.0 if job.considering is None else job.considering.listed_usd
            for number, call in enumerate(call for call in outcome.calls if call.is_telling):
                # What the later calls about a result cost was brought about by the first.
                self._learned = self._learned.called(
                    call.cost_usd, call.latency_ms, 0.0 if number else listed
                )
            if isinstance(outcome, Written) or _tells_of_filters(outcome):
                # What can never be sent removes nothing.
                after = job.tokens
                if isinstance(outcome, Written) and len(outcome.text) <= MOST_CHARS:
                    after = outcome.after_tokens
                excerpt = job.tokens if job.considering is None else job.considering.excerpt_tokens
                self._learned = self._learned.observed(job.tokens, job.tokens - after, excerpt)


def _is_elsewhere(flight: "Future[FrozenText] | None") -> bool:
    return flight is not None and flight.done() and flight.result() is _ELSEWHERE


def refusal_of(refused: Refused) -> str:
    """Why a result was refused, as a label: the first strategy's reason says it."""
    reason = refused.kinds[0] if refused.kinds else ""
    return next((known for known in REFUSALS if reason.startswith(known)), OTHER_REFUSAL)


def _made(text: str) -> FrozenText:
    """What is kept of an accepted text: nothing of one that no excerpt leaves room for, or no database takes.

    PostgreSQL takes no zero, and none takes half a surrogate pair.
    """
    if len(text) > MOST_CHARS:
        return FrozenText(None, LONGER_THAN_ANY)
    return FrozenText(None, OTHER_REFUSAL) if _UNKEEPABLE.search(text) else FrozenText(text)


def _tells_of_filters(refused: Refused) -> bool:
    """Whether there was a filter to refuse: by an hour without an endpoint a gate would learn to shut."""
    return refusal_of(refused) not in _PASSING and all(call.fault != DEADLINE for call in refused.calls)
