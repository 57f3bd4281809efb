"""Reports over gRPC: before or after the row reached the database, to the same worker or to another."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import pytest

from pinch.v1 import insight_pb2, prune_pb2
from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.app import App
from pinch_server.settings import ServerSettings, Settings, StoreSettings
from pinch_server.store.engine import open_engine, writing
from tests.rpc.conversations import body
from tests.rpc.service import refusal

FREE = "127.0.0.1:0"
_PATIENCE = 60.0


@contextmanager
def worker(directory: Path, url: str) -> Iterator[grpc.Channel]:
    """One worker of a service; workers share the directory and the database."""
    app = App(
        Settings(
            server=ServerSettings(listen=FREE, http_listen=FREE, workers=1),
            store=StoreSettings(state_dir=directory, database_url=url, migrate=True),
        )
    )
    app.start()
    try:
        with grpc.insecure_channel(app.addresses.grpc) as channel:
            yield channel
    finally:
        app.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/pinch.sqlite3"
    return str(request.getfixturevalue("postgres_url"))


def prune(channel: grpc.Channel) -> str:
    request = prune_pb2.PruneRequest(body=prune_pb2.RequestBody(json=body()))
    reply = PruneServiceStub(channel).Prune(request)
    assert reply.persisted
    return str(reply.decision_id)


def report(channel: grpc.Channel, decision_id: str, outcome: prune_pb2.Outcome.ValueType) -> None:
    request = prune_pb2.ReportOutcomeRequest(
        decision_id=decision_id,
        outcome=outcome,
        selected_model="chosen",
        usage=prune_pb2.TokenUsage(prompt_tokens=10, cached_tokens=4),
    )
    assert PruneServiceStub(channel).ReportOutcome(request).persisted


def stored(channel: grpc.Channel, decision_id: str) -> insight_pb2.Decision:
    """The decision once its outcome is there: rows and reports reach the database after their replies."""
    insight = InsightServiceStub(channel)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            found = insight.GetDecision(insight_pb2.GetDecisionRequest(decision_id=decision_id)).decision
        except grpc.RpcError as error:
            if refusal(error).reason != "NO_DECISION":
                raise
            continue
        if found.outcome != prune_pb2.OUTCOME_PENDING:
            return found
    raise TimeoutError(f"{decision_id} got no outcome")


def test_any_worker_takes_a_report_at_any_time(tmp_path: Path, url: str) -> None:
    """Reported at once or once the row is stored, to its own worker or to another: the outcome is on it."""
    with ExitStack() as stack:
        one, other = (stack.enter_context(worker(tmp_path, url)) for _ in range(2))
        for taker in (one, other):
            at_once = prune(one)
            report(taker, at_once, prune_pb2.OUTCOME_FAILED)
            assert stored(other, at_once).outcome == prune_pb2.OUTCOME_FAILED
            report(taker, at_once, prune_pb2.OUTCOME_DISPATCHED)
            later = stored(one, at_once)
            while later.outcome == prune_pb2.OUTCOME_FAILED:
                later = stored(one, at_once)
            assert (later.outcome, later.selected_model) == (prune_pb2.OUTCOME_DISPATCHED, "chosen")
            assert later.usage == prune_pb2.TokenUsage(prompt_tokens=10, cached_tokens=4)


def test_a_report_that_comes_before_its_row_waits_for_it(tmp_path: Path) -> None:
    """While the database takes nothing, decisions and reports of two workers wait, and meet in the end."""
    url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    engine = open_engine(url)
    with worker(tmp_path, url) as one, worker(tmp_path, url) as other:
        with writing(engine):
            ids = [prune(one) for _ in range(3)]
            for decision_id in ids:
                report(other, decision_id, prune_pb2.OUTCOME_REJECTED)
            with pytest.raises(grpc.RpcError) as caught:
                InsightServiceStub(one).GetDecision(insight_pb2.GetDecisionRequest(decision_id=ids[0]))
            assert refusal(caught.value).reason == "NO_DECISION"
        assert {stored(one, decision_id).outcome for decision_id in ids} == {prune_pb2.OUTCOME_REJECTED}
        savings = InsightServiceStub(other).GetSavings(insight_pb2.GetSavingsRequest()).savings
    engine.dispose()
    assert savings.calls_30d == 0
