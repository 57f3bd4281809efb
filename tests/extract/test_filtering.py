"""Having filters written: each content once at a time, the first of a call alone, a queue that has an end."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from pinch_server.core.extraction.candidate_gate import Gate
from pinch_server.core.extraction.considered import Considering, Job
from pinch_server.core.extraction.frozen import Claim, FrozenText
from pinch_server.core.extraction.learning import Learned
from pinch_server.core.extraction.record import FilterRecord
from pinch_server.core.extraction.slugs import NOT_SENT
from pinch_server.core.pricing import CacheState
from pinch_server.extract.filtering import SIDE_BY_SIDE, Filtering, Writer
from pinch_server.extract.model import Usage
from pinch_server.extract.outcome import Call, Refused, Strategy, Written
from pinch_server.extract.recording import MadeWith
from pinch_server.observe.metrics import Metrics


@dataclass
class Shelf:
    """Keeps texts in memory."""

    texts: dict[bytes, FrozenText] = field(default_factory=dict)
    is_full: bool = False
    claims: list[Claim] = field(default_factory=list)

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, FrozenText]:
        return {key: self.texts[key] for key in keys if key in self.texts}

    def claim(self, key: bytes, seconds: float) -> Claim | None:
        assert seconds > 0
        return self.claims.pop(0) if self.claims else Claim(key, 1, holds=True)

    def freeze(self, key: bytes, frozen: FrozenText, claim: Claim) -> FrozenText | None:
        assert claim
        return None if self.is_full else self.texts.setdefault(key, frozen)

    def give_back(self, claim: Claim) -> None:
        assert claim.holds


@dataclass
class Gated:
    """Writes filters when it is let, and notes how many were under way at once.

    Attributes:
        let: Set once filters may be finished.
        asked: The jobs that were asked for.
        at_once: How many others were under way when each began.
    """

    let: threading.Event = field(default_factory=threading.Event)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    asked: list[Job] = field(default_factory=list)
    at_once: list[int] = field(default_factory=list)
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, job: Job, seconds: float) -> Written | Refused:
        with self._lock:
            self.asked.append(job)
            self.at_once.append(self._under_way)
            self._under_way += 1
        self.begun.release()
        assert seconds > 0
        self.let.wait(60)
        with self._lock:
            self._under_way -= 1
        return Written("kept", "kept", "", Strategy.CODE, True, 3_000, 1)


def a_job(number: int) -> Job:
    key = bytes([number]) * 32
    return Job(f"{number} " * 5_000, 3_000, "ls", (), "", b"s" + key, key, 2_000)


@contextmanager
def filtering(
    writer: Writer,
    metrics: Metrics,
    *,
    waiting: int = 2,
    shelf: Shelf | None = None,
    log: Callable[[FilterRecord], None] = lambda _: None,
    monotonic: Callable[[], float] = lambda: 0.0,
) -> Iterator[Filtering]:
    running = Filtering(
        writer,
        shelf or Shelf(),
        metrics.extraction,
        monotonic,
        seconds=60.0,
        most_waiting=waiting,
        shares=False,
        made_with=MadeWith("small", "code", "high"),
        log=log,
    )
    try:
        yield running
    finally:
        if isinstance(writer, Gated):
            writer.let.set()
        running.close()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(version="0")


def full(metrics: Metrics) -> float:
    rows = metrics.page().decode().splitlines()
    name = "pinch_extraction_queue_full_total "
    return float(next(row for row in rows if row.startswith(name)).split()[1])


def test_a_content_is_filtered_once_for_all_who_wait(metrics: Metrics) -> None:
    """Calls that want a filter for one content at the same time share the one that is being written."""
    writer = Gated()
    with filtering(writer, metrics) as running, ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(running.now, [a_job(1)], 60.0) for _ in range(4)]
        assert writer.begun.acquire(timeout=60)
        running.later([a_job(1)])
        assert running.is_under_way(a_job(1))
        writer.let.set()
        answers = [one.result(60) for one in waiting]
    assert len(writer.asked) == 1
    texts = {answer[0].text for answer in answers if answer[0] is not None}
    assert len(texts) == 1


def test_the_first_of_a_call_goes_alone(metrics: Metrics) -> None:
    """One filter is written before the others of a call begin, and then so many side by side."""
    writer = Gated()
    writer.let.set()
    with filtering(writer, metrics) as running:
        assert all(running.now([a_job(number) for number in range(9)], 60.0))
    assert writer.asked[0] == a_job(0)
    assert writer.at_once[:2] == [0, 0]
    assert max(writer.at_once) < SIDE_BY_SIDE


def test_who_has_no_time_gets_nothing_and_the_text_is_there_later(metrics: Metrics) -> None:
    """A call whose time is over gives none; what was under way is finished and known from then on."""
    writer = Gated()
    with filtering(writer, metrics) as running:
        assert running.now([a_job(1)], 0.01) == [None]
        writer.let.set()
        assert running.idle(60)
        known = running.known.get(a_job(1).session_key)
        assert known is not None
        assert known.text is not None


def test_nobody_pays_for_a_caller_who_has_gone(metrics: Metrics) -> None:
    """What has waited behind other filters until its caller's time was over is not begun, nor left alone."""
    writer, clock = Gated(), [0.0]
    with (
        filtering(writer, metrics, monotonic=lambda: clock[0]) as running,
        ThreadPoolExecutor(SIDE_BY_SIDE) as pool,
    ):
        patient = [pool.submit(running.now, [a_job(number)], 60.0) for number in range(SIDE_BY_SIDE)]
        assert all(writer.begun.acquire(timeout=60) for _ in patient)
        assert running.now([a_job(9)], 0.01) == [None]
        clock[0] = 1.0
        writer.let.set()
        assert all(one.result(60)[0] for one in patient)
        assert running.idle(60)
        assert a_job(9) not in writer.asked
        assert not running.is_under_way(a_job(9))
        assert running.now([a_job(9)], 60.0) == [FrozenText("kept")]


def test_each_filter_is_on_record_once(metrics: Metrics) -> None:
    """The log takes one record a filter, with why it was let through, and none for a text that was there."""
    records: list[FilterRecord] = []
    writer = Gated()
    writer.let.set()
    considering = Considering(
        0, None, Gate.ALLOWED, 3_000, CacheState.COLD, reason="cold cache", content_class="ls_listing"
    )
    job = replace(a_job(1), considering=considering)
    with filtering(writer, metrics, log=records.append) as running:
        for _ in range(2):
            running.now([job], 60.0)
    (record,) = records
    assert (record.result, record.model, record.strategy) == ("accepted", "small", "code")
    assert (record.tokens, record.after_tokens, record.cost_usd) == (3_000, 1, 0.0)
    assert (record.cache_state, record.gate_reason) == (CacheState.COLD, "cold cache")
    assert (record.content_class, record.aggressiveness) == ("ls_listing", "high")


def test_who_waited_in_vain_waits_for_no_other(metrics: Metrics) -> None:
    """Once another's claim has ended without a text for this session, a third's is not waited for."""
    writer = Gated()
    writer.let.set()
    shelf = Shelf(claims=[Claim(b"", 1, holds=False), Claim(b"", 1, holds=False), Claim(b"", 2, holds=False)])
    with filtering(writer, metrics, shelf=shelf) as running:
        (answer,) = running.now([a_job(1)], 60.0)
    assert answer == FrozenText("kept")
    assert shelf.claims == []


def test_what_the_database_does_not_take_is_counted_apart(metrics: Metrics) -> None:
    """An accepted text that is not on record is never sent, and is not counted as accepted."""
    writer = Gated()
    writer.let.set()
    with filtering(writer, metrics, shelf=Shelf(is_full=True)) as running:
        (answer,) = running.now([a_job(1)], 60.0)
        assert running.is_under_way(a_job(1))
    assert answer == FrozenText(None, "not_kept")
    page = metrics.page().decode()
    assert 'pinch_extraction_filters_total{filter="not_kept"} 1.0' in page
    assert 'pinch_extraction_filters_total{filter="accepted"} 0.0' in page


@dataclass
class Outcomes:
    """Leaves of each result what the script says.

    Attributes:
        outcomes: What comes of each result, in turn.
    """

    outcomes: list[Written | Refused]

    def write(self, job: Job, seconds: float) -> Written | Refused:
        assert job.text
        assert seconds > 0
        return self.outcomes.pop(0)


def failed(fault: str, cost_usd: float = 0.0, latency_ms: float = 1.0) -> Refused:
    call = Call(Strategy.CODE, "filter", fault, False, Usage(), cost_usd, latency_ms)
    return Refused((f"model call failed: {fault}", "result not smaller"), ("model call failed",), (call,))


@pytest.mark.parametrize("fault", [*NOT_SENT, "refused", "401", "429", "503"])
def test_an_endpoint_that_is_away_teaches_nothing(metrics: Metrics, fault: str) -> None:
    """While no filter is written the gate learns neither that filters are useless nor that calls are free."""
    writer = Outcomes([failed(fault) for _ in range(70)])
    with filtering(writer, metrics) as running:
        for number in range(70):
            running.now([a_job(number)], 60.0)
        assert running.learned == Learned()
    assert not writer.outcomes


def test_a_call_that_hangs_teaches_what_it_cost_and_how_long_it_took(metrics: Metrics) -> None:
    """A call without an answer in its time counts with its cost and time, and says nothing of filters."""
    writer = Outcomes([failed("deadline", 0.0, 90_000.0), failed("closed", 0.25)])
    with filtering(writer, metrics) as running:
        for number in range(2):
            running.now([a_job(number)], 60.0)
        learned = running.learned
    assert (learned.calls, learned.spent_usd, learned.latencies_ms) == (2, 0.25, (90_000.0, 1.0))
    assert learned.seen_tokens == learned.excerpt_tokens == 0


def test_a_filter_that_is_refused_teaches_that_it_removed_nothing(metrics: Metrics) -> None:
    """A refusal of what a filter left counts with its size, also where its repair found no endpoint."""
    answered = Call(Strategy.CODE, "filter", "", False, Usage(), 0.01, 900.0)
    repair = Call(Strategy.CODE, "repair", "429", False, Usage(), 0.0, 1.0)
    writer = Outcomes([Refused(("syntax error: here",), ("syntax error",), (answered, repair))])
    with filtering(writer, metrics) as running:
        running.now([a_job(1)], 60.0)
        learned = running.learned
    assert (learned.seen_tokens, learned.removed_tokens) == (3_000, 0)
    assert (learned.calls, learned.spent_usd) == (1, 0.01)


def test_the_queue_has_an_end(metrics: Metrics) -> None:
    """What does not fit into the queue is left out, counted, and left alone for a while."""
    writer = Gated()
    with filtering(writer, metrics, waiting=2) as running:
        running.later([a_job(0)])
        assert writer.begun.acquire(timeout=60)
        running.later([a_job(number) for number in range(1, 6)])
        assert full(metrics) == 3
        assert running.is_under_way(a_job(5))
        writer.let.set()
        assert running.idle(60)
    assert writer.asked == [a_job(0), a_job(1), a_job(2)]


@pytest.mark.parametrize("ask", [Filtering.later, lambda running, jobs: running.now(jobs, 60.0)])
def test_after_the_close_nothing_is_asked(
    metrics: Metrics, ask: Callable[[Filtering, list[Job]], object]
) -> None:
    """A closed one asks nobody and keeps no one waiting; closing twice is harmless."""
    writer = Gated()
    with filtering(writer, metrics) as running:
        running.close()
        ask(running, [a_job(1)])
    assert writer.asked == []
