"""Ranking over gRPC: with vectors, without them, and whatever an endpoint does instead of giving any."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.embedding import Fault
from pinch_server.core.scoring import Scoring
from pinch_server.settings import RelevanceSettings
from tests.embeddings.test_http import REASONS
from tests.rpc.conversations import body, messages
from tests.rpc.service import Service, running
from tests.services.embedding_faults import FAULTS, FaultServer
from tests.workers.processes import until

EMBEDDED = RelevanceSettings()
SLOW = {"hang", "hang_in_body", "drip"}


@pytest.fixture
def endpoint() -> Iterator[FaultServer]:
    server = FaultServer()
    yield server
    server.close()


def through(server: FaultServer, seconds: float = 60) -> RelevanceSettings:
    return RelevanceSettings(base_url=server.base_url, model="any-model", timeout_seconds=seconds)


def prune(service: Service, json_body: bytes | None = None, **limits: Any) -> pb.PruneResponse:
    request = pb.PruneRequest(limits=pb.Limits(**limits))
    request.body.json = body() if json_body is None else json_body
    return service.prune.Prune(request, timeout=120)


def unavailable(service: Service, fault: Fault) -> float:
    return service.metric(f'pinch_relevance_unavailable_total{{fault="{fault}"}}')


def session(*results: str, question: str) -> bytes:
    """A session of one read a turn, each answered, and a question at its end."""
    said: list[dict[str, Any]] = []
    for number, text in enumerate(results):
        call = {"name": "read", "arguments": "{}"}
        said += [
            {"role": "user", "content": "Go on."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": text},
            {"role": "assistant", "content": "Done."},
        ]
    return json.dumps({"messages": [*said, {"role": "user", "content": question}]}).encode()


def test_a_call_decided_by_itself_is_ranked_by_words_and_vectors() -> None:
    """By default, per_call ranks as hybrid with the embedded model, and the replay oldest first."""
    with running(relevance=EMBEDDED) as service:
        reply = prune(service)
        assert (reply.stats.ranking, reply.stats.ranking_reason) == (pb.RANKING_HYBRID, "")
        replayed = prune(service, stability=pb.STABILITY_REPLAY)
        assert (replayed.stats.ranking, replayed.stats.ranking_reason) == (
            pb.RANKING_UNIFORM,
            "oldest_first",
        )
        assert service.metric("pinch_embedding_seconds_count") == 1
        assert service.metric('pinch_relevance_total{outcome="hybrid"}') == 1


@pytest.mark.parametrize("scoring", [Scoring.HYBRID, Scoring.COSINE, Scoring.LEXICAL])
def test_an_older_result_that_matters_outlives_a_newer_one_that_does_not(scoring: Scoring) -> None:
    """The least relevant result is trimmed first, whatever its age, until the budget is met."""
    wanted = "The invoice total is computed from tax and discount of each invoice line. " * 50
    others = [f"Weather report {n}: rain and wind over the mountains, snow above. " * 55 for n in range(3)]
    asked = session(wanted, *others, question="How is the invoice total computed from tax and discount?")
    with running(relevance=RelevanceSettings(scoring=scoring)) as service:
        reply = prune(service, asked, budget_tokens=4_000)
    changed = {edit.message_index for edit in reply.edits}
    assert changed
    assert 2 not in changed
    assert reply.stats.budget_met


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_an_endpoint_breaks_a_call(endpoint: FaultServer, fault: str) -> None:
    """Whatever the endpoint does, the reply is OK, ranked by words with the reason, and counted."""
    endpoint.fault = fault
    with running(relevance=through(endpoint, 0.3 if fault in SLOW else 60)) as service:
        reply = prune(service)
        assert reply.stats.pruned
        assert (reply.stats.ranking, reply.stats.ranking_reason) == (pb.RANKING_LEXICAL, REASONS[fault])
        assert unavailable(service, REASONS[fault]) == 1
        assert service.metric('pinch_relevance_total{outcome="lexical"}') == 1


def test_an_endpoint_that_is_not_there_is_left_alone_after_three_calls() -> None:
    """A refused connection is the reason, and after three in a row nobody asks any more."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    with running(relevance=RelevanceSettings(base_url=address)) as service:
        reasons = [prune(service).stats.ranking_reason for _ in range(4)]
    assert reasons == [Fault.REFUSED] * 3 + [Fault.BREAKER_OPEN]


def test_a_caller_in_a_hurry_is_answered_before_its_deadline(endpoint: FaultServer) -> None:
    """An endpoint that hangs takes less than the time that the caller gave, not the time that was set."""
    endpoint.fault = "hang"
    with running(relevance=through(endpoint, 600)) as service:
        request = pb.PruneRequest()
        request.body.json = body()
        reply = service.prune.Prune(request, timeout=5)
    assert reply.stats.ranking_reason == Fault.TIMEOUT


def test_only_what_is_new_travels(endpoint: FaultServer) -> None:
    """The turn after sends the query and the results that no call has sent before."""
    before = session(*(f"Part {n}. " * 700 for n in range(4)), question="And now?")
    after = session(*(f"Part {n}. " * 700 for n in range(5)), question="And then?")
    with running(relevance=through(endpoint)) as service:
        for asked in (before, after):
            assert prune(service, asked).stats.ranking == pb.RANKING_HYBRID
    first, second = (request["input"] for request in endpoint.requests)
    assert len(first) == 1 + 4
    assert len(second) == 1 + 1


def test_there_is_no_round_trip_where_there_is_nothing_to_rank(endpoint: FaultServer) -> None:
    """Within the budget, with relevance off, or with too few candidates, nothing is asked."""
    one = session("Part. " * 2_000, question="And now?")
    with running(relevance=through(endpoint)) as service:
        assert prune(service, budget_tokens=1_000_000).stats.ranking == pb.RANKING_NOT_NEEDED
        assert prune(service, relevance=False).stats.ranking == pb.RANKING_UNIFORM
        assert prune(service, one).stats.ranking == pb.RANKING_NOT_NEEDED
    assert endpoint.requests == []


def test_tool_definitions_count_when_it_is_asked_whether_to_rank(endpoint: FaultServer) -> None:
    """A conversation that only its tool definitions push over the budget is ranked."""
    tools = [{"type": "function", "function": {"name": "read", "description": "x" * 9_000}}]
    small = json.loads(session(*(f"Part {n}. " * 300 for n in range(4)), question="And now?"))
    fits, does_not = json.dumps(small).encode(), json.dumps({**small, "tools": tools}).encode()
    with running(relevance=through(endpoint)) as service:
        assert prune(service, fits, budget_tokens=5_000).stats.ranking == pb.RANKING_NOT_NEEDED
        assert prune(service, does_not, budget_tokens=5_000).stats.ranking == pb.RANKING_HYBRID


@pytest.mark.parametrize("relevance", [EMBEDDED, RelevanceSettings(scoring=Scoring.AGE)])
def test_with_relevance_off_every_candidate_is_trimmed_alike(relevance: RelevanceSettings) -> None:
    """Without ranking, the bytes are those of the uniform rule, whatever the scoring."""
    with running() as plain, running(relevance=relevance) as service:
        uniform = prune(plain, relevance=False, budget_tokens=9_000)
        reply = prune(service, relevance=False, budget_tokens=9_000)
    assert reply.body.json == uniform.body.json
    assert reply.stats.ranking == pb.RANKING_UNIFORM
    assert len(reply.edits) == 6


def test_the_embedded_model_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranking with the embedded model needs no network, from its start to its end."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    # gRPC connects in its own C code, which this does not touch.
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with running(relevance=EMBEDDED) as service:
        reply = prune(service)
    assert reply.stats.ranking == pb.RANKING_HYBRID


def test_a_large_call_that_waits_for_an_endpoint_holds_up_no_other(endpoint: FaultServer) -> None:
    """While one call waits for vectors, a large one that needs none is worked on and answered."""
    endpoint.fault = "hang"
    with running(relevance=through(endpoint)) as service:
        large = pb.PruneRequest(body=pb.RequestBody(json=body(messages(20))))
        assert len(large.body.json) > 100_000
        waiting = service.prune.Prune.future(large, timeout=120)
        until(lambda: bool(endpoint.requests))
        large.limits.stability = pb.STABILITY_REPLAY
        assert service.prune.Prune(large, timeout=60).stats.pruned
        assert not waiting.done()
        waiting.cancel()
