"""With stored vectors no outage, restart or fresh replica decides the past anew."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Engine, delete

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import Chars3
from pinch_server.core.embedding import Fault
from pinch_server.core.limits import Limits, TrimStyle
from pinch_server.core.plan import Ranking
from pinch_server.core.scoring import Scoring
from pinch_server.decide import Body, Decided, Decider, Policy, PruneCall, Ranker, RankingPolicy
from pinch_server.decide.ranking import PAST_VECTORS_MISSING
from pinch_server.embeddings.chosen import open_embedder
from pinch_server.settings import RelevanceSettings
from pinch_server.store.tables import embedding_vectors
from pinch_server.store.vectors import DatabaseVectors
from tests.embeddings.test_chosen import Watched as Embeddings
from tests.rpc.conversations import body, messages
from tests.rpc.service import Kept
from tests.services.embedding_faults import FaultServer
from tests.test_decide import Watched

LIMITS = Limits(
    budget_tokens=8_000,
    target_tokens=6_500,
    keep_last_turns=1,
    keep_last_rounds=1,
    min_gain=0.0,
    trim_style=TrimStyle.PLAIN,
)
PATIENT_SECONDS = 30.0


@pytest.fixture
def endpoint() -> Iterator[FaultServer]:
    server = FaultServer()
    yield server
    server.close()


@contextmanager
def replica(endpoint: FaultServer, engine: Engine) -> Iterator[Decider]:
    """A process that has just started, on the same database; at its end all it wrote is there."""
    clock = SystemClock()
    vectors = DatabaseVectors(engine, read_seconds=PATIENT_SECONDS)
    settings = RelevanceSettings(base_url=endpoint.base_url, model="any-model", scoring=Scoring.HYBRID)
    embedder = open_embedder(settings, Embeddings(), clock.monotonic, vectors)
    assert embedder is not None
    ranker = Ranker(clock, RankingPolicy(Scoring.HYBRID), embedder)
    policy = Policy(LIMITS, is_enabled=True, fingerprint="f", session_key=b"key")
    try:
        yield Decider(policy, Chars3(), Kept(), Watched(), clock, Uuid7Ids(), ranker)
    finally:
        embedder.close()
        vectors.close()


@dataclass(frozen=True)
class Told:
    """What an answer says of one part."""

    message: int
    new: str
    event_message: int


def past(answer: Decided) -> list[Told]:
    """What earlier calls had trimmed."""
    return [Told(e.message, e.new, e.event_message) for e in answer.edits if not e.is_new]


def whole(answer: Decided) -> list[Told]:
    """All that is trimmed."""
    return [Told(e.message, e.new, e.event_message) for e in answer.edits]


def ask(decider: Decider, results: int, **limits: Any) -> Decided:
    return decider.decide(PruneCall(Body(body(messages(results))), limits=limits))


def test_a_restart_and_an_outage_leave_past_events_as_they_were(
    endpoint: FaultServer, engine: Engine
) -> None:
    """A replica that has just started ranks the past by stored vectors, endpoint or no endpoint."""
    with replica(endpoint, engine) as first:
        before = [ask(first, results) for results in range(4, 11)]
        assert {one.stats.ranking for one in before} >= {Ranking.HYBRID}
        assert [one.stats.ranking_reason for one in before if one.stats.ranking is Ranking.LEXICAL] == []
    asked = len(endpoint.requests)
    with replica(endpoint, engine) as second:
        assert whole(ask(second, 10)) == whole(before[-1])
    assert len(endpoint.requests) == asked
    endpoint.fault = "503"
    with replica(endpoint, engine) as third:
        answer = ask(third, 11)
        assert past(answer) == whole(before[-1])
        assert (answer.stats.ranking, answer.stats.ranking_reason) == (Ranking.LEXICAL, Fault.FAILING)


def test_a_missing_vector_ranks_that_event_by_words_and_says_so(
    endpoint: FaultServer, engine: Engine
) -> None:
    """Where the vectors of a past event are gone it is ranked by words, the reply says so, none are asked."""
    with replica(endpoint, engine) as first:
        for results in range(4, 11):
            ask(first, results)
    with engine.begin() as connection:
        connection.execute(delete(embedding_vectors))
    asked = len(endpoint.requests)
    with replica(endpoint, engine) as second:
        answer = ask(second, 10)
    assert answer.edits
    assert len(endpoint.requests) <= asked + 1
    assert answer.stats.ranking_reason == PAST_VECTORS_MISSING
