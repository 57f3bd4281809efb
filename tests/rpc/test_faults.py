"""Whatever breaks inside, the caller keeps its conversation and no line quotes it."""

import logging
from pathlib import Path

import grpc
import pytest

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.decision import Decision
from pinch_server.decide import Decider
from pinch_server.observe.metrics import Metrics
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from pinch_server.store.recorder import JournalRecorder
from tests.rpc.conversations import body, typed
from tests.rpc.service import Kept, Service, refusal, running

SECRET = "a word of the conversation"


class BrokenRecorder(Kept):
    def record(self, decision: Decision) -> bool:
        raise RuntimeError(f"{SECRET} {decision}")


class BrokenCounter:
    method = "broken"

    def error_bound(self, texts: object) -> float:
        raise ZeroDivisionError(texts)

    def units(self, text: str) -> int:
        raise ZeroDivisionError(text)

    def tokens(self, units: int) -> int:
        raise ZeroDivisionError(units)


class BrokenMetrics(Metrics):
    def decided(self, **_facts: object) -> None:
        raise ValueError(SECRET)

    def rpc_started(self, method: str) -> None:
        raise ValueError(method)

    def rpc_handled(self, method: str, code: str, seconds: float) -> None:
        raise ValueError(method, code, seconds)


def assert_whole(service: Service) -> None:
    """Every form and reply form comes back OK and as it came."""
    sent, chat = body(), typed()
    reply = service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(json=sent)))
    assert (reply.body.json, reply.unchanged_reason, reply.stats.pruned) == (sent, "internal_error", False)
    assert (reply.decision_id, reply.persisted, len(reply.edits)) == ("", False, 0)
    assert service.prune.Prune(pb.PruneRequest(chat=chat)).chat == chat
    edits = service.prune.Prune(pb.PruneRequest(chat=chat, reply_form=pb.REPLY_FORM_EDITS))
    assert (edits.WhichOneof("conversation"), len(edits.edits)) == (None, 0)
    assert service.log[-1]["code"] == "OK"
    assert service.log[-1]["result"] == "internal_error"


def test_a_recorder_that_explodes_leaves_the_caller_whole(caplog: pytest.LogCaptureFixture) -> None:
    """A recorder's exception costs no pruning: the reply is not persisted, and the log has its type alone."""
    with caplog.at_level(logging.DEBUG), running(recorder=BrokenRecorder()) as service:
        reply = service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(json=body())))
        assert (reply.stats.pruned, reply.persisted) == (True, False)
        assert service.metric('pinch_decisions_total{result="pruned",route="unspecified"}') == 1
    assert "the recorder failed with RuntimeError" in caplog.text
    assert SECRET not in caplog.text


def test_a_counter_that_explodes_leaves_the_caller_whole(caplog: pytest.LogCaptureFixture) -> None:
    """An exception that quotes the conversation reaches neither the caller nor the log."""
    with caplog.at_level(logging.DEBUG), running(counter=BrokenCounter()) as service:
        assert_whole(service)
    assert "builtins.ZeroDivisionError at " in caplog.text
    assert "And now?" not in caplog.text


def test_metrics_that_explode_cost_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """Bookkeeping that fails around a call and inside it never becomes an error of the call."""
    broken = BrokenMetrics(version="0")
    with caplog.at_level(logging.DEBUG), running(observer=broken, rpc_metrics=broken) as service:
        assert_whole(service)
    assert SECRET not in caplog.text


def test_an_unexpected_error_of_another_method_is_internal_and_says_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no conversation to give back, the caller reads INTERNAL and the id to look up."""

    def explode(_request: object, _reported_at: int) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("pinch_server.rpc.prune_service.read_outcome", explode)
    with caplog.at_level(logging.DEBUG), running() as service:
        with pytest.raises(grpc.RpcError) as caught:
            service.prune.ReportOutcome(pb.ReportOutcomeRequest(), metadata=(("x-request-id", "mine"),))
        found = refusal(caught.value)
    assert (found.code, found.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert found.request_id == "mine"
    assert SECRET not in found.message
    assert SECRET not in caplog.text
    assert "mine" in caplog.text


def test_a_reply_that_cannot_be_written_leaves_the_caller_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault after the decision costs the pruning too, and not the call."""

    def explode(*_arguments: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("pinch_server.rpc.prune_service.write_reply", explode)
    with running() as service:
        assert_whole(service)


def test_decisions_reach_a_database_through_the_journal(tmp_path: Path) -> None:
    """With the real recorder, what the reply calls persisted is a row once the journal is emptied."""
    url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    migrate.up(url)
    engine = open_engine(url)
    recorder = JournalRecorder(engine, tmp_path / "journal", Metrics(version="0"), max_bytes=1_000_000)
    try:
        with running(recorder=recorder) as service:
            reply = service.prune.Prune(pb.PruneRequest(chat=typed()))
            assert reply.persisted
        assert recorder.flush(30)
        with engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT decision_id FROM prune_decisions").all()
        assert rows == [(reply.decision_id,)]
    finally:
        recorder.close()
        engine.dispose()


def test_the_decider_is_the_only_thing_behind_the_door() -> None:
    """What the door calls is the use case's public face."""
    assert {"decide", "report"} <= {name for name in vars(Decider) if not name.startswith("_")}
