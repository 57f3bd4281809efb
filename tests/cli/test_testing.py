"""`pinch serve --testing`: the server that every client's tests start."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest

from bench.running_server import running_server
from pinch.v1 import prune_pb2 as pb
from pinch.v1.insight_pb2 import GetDecisionRequest
from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.cli.testing import settings_for_tests
from pinch_server.rpc.spoiled import SPOILERS
from pinch_server.settings import load_settings
from tests.cli.commands import run
from tests.rpc.conversations import body
from tests.services.testing_server import serving_tests

REQUEST = pb.PruneRequest(
    body=pb.RequestBody(json=body()),
    limits=pb.Limits(budget_tokens=2_000, keep_last_turns=1),
    context=pb.RequestContext(session_id="s"),
    reply_form=pb.REPLY_FORM_EDITS,
)
SECONDS = 30


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PruneServiceStub]:
    """A stub on one server for the whole file."""
    with serving_tests(tmp_path_factory.mktemp("home")) as at, grpc.insecure_channel(at["grpc"]) as channel:
        yield PruneServiceStub(channel)


def asked(stub: PruneServiceStub, **faults: str) -> pb.PruneResponse:
    """The reply to one call that asks for faults."""
    metadata = [(f"pinch-test-{name.replace('_', '-')}", value) for name, value in faults.items()]
    return stub.Prune(REQUEST, timeout=SECONDS, metadata=metadata)


def test_two_runs_are_the_same_and_leave_nothing(tmp_path: Path) -> None:
    """Ids count from 1, the wall clock stands, replies repeat byte for byte, and no file is left."""
    replies = []
    for _ in range(2):
        with serving_tests(tmp_path) as at, grpc.insecure_channel(at["grpc"]) as channel:
            reply = PruneServiceStub(channel).Prune(REQUEST, timeout=SECONDS)
            database = Path(at["database"].removeprefix("sqlite:///"))
            assert database.exists()
            insight, decision = InsightServiceStub(channel), GetDecisionRequest(decision_id=reply.decision_id)
            stored = None
            while stored is None:  # until the journal has been moved to the database
                with suppress(grpc.RpcError):
                    stored = insight.GetDecision(decision, timeout=SECONDS).decision
            made = datetime.fromtimestamp(stored.created_at_unix_micros / 1e6, UTC)
            assert made == datetime(2026, 1, 1, tzinfo=UTC)
        assert not database.parent.exists()
        replies.append(reply.SerializeToString(deterministic=True))
        assert reply.decision_id == "019b76da-a800-7000-8000-000000000001"
        assert reply.persisted
    assert replies[0] == replies[1]
    assert list(tmp_path.rglob("*pinch*")) == []


@pytest.mark.parametrize(
    "variable",
    [
        "PINCH_STORE__DATABASE_URL=postgresql://pinch@db/pinch",
        "PINCH_STORE__DATABASE_URL=sqlite:////var/lib/pinch/pinch.db",
        "PINCH_STORE__STATE_DIR=/var/lib/pinch",
        "PINCH_STORE__MIGRATE=true",
        "PINCH_SERVER__INSECURE=true",
    ],
)
def test_it_goes_with_nothing_of_production(
    variable: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database, a state directory or an open address in the settings is refused, by name."""
    name, _, value = variable.partition("=")
    environ = {"XDG_STATE_HOME": str(tmp_path), name: value}
    with pytest.raises(SystemExit) as caught, settings_for_tests(load_settings(None, environ), environ):
        pass
    assert caught.value.code == 2
    assert "--testing does not go with" in (told := capsys.readouterr().err)
    assert name in told


def test_it_takes_no_database_from_the_command_line(tmp_path: Path) -> None:
    """With --database-url the command ends with status 2 and has printed no address."""
    done = run("serve", "--testing", "--database-url", "postgresql://pinch@db/pinch", home=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert "--database-url" in done.stderr.decode()


def test_without_testing_no_fault_can_be_asked_for(tmp_path: Path) -> None:
    """The metadata are without effect on any other server."""
    with running_server(tmp_path) as running, grpc.insecure_channel(running.grpc) as channel:
        stub = PruneServiceStub(channel)
        assert asked(stub, status="INTERNAL", reply="noise", odd="x") is not None


def test_a_status_and_how_often(stub: PruneServiceStub) -> None:
    """A status is given as often as asked, counted by key; then the call is served."""
    for key in ("one", "other"):
        for _ in range(2):
            with pytest.raises(grpc.RpcError) as caught:
                asked(stub, status="UNAVAILABLE", times="2", key=key)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert asked(stub, status="UNAVAILABLE", times="2", key=key).edits


def test_a_delay_ends_with_the_call(stub: PruneServiceStub) -> None:
    """A call that waits beyond its deadline frees its thread: more than all threads can hang in turn."""
    for _ in range(20):
        with pytest.raises(grpc.RpcError) as caught:
            stub.Prune(REQUEST, timeout=0.05, metadata=[("pinch-test-delay-ms", "3600000")])
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert asked(stub, delay_ms="1").edits


@pytest.mark.parametrize("how", ["truncated", "noise"])
def test_a_reply_that_cannot_be_decoded(how: str, stub: PruneServiceStub) -> None:
    """Truncated and noisy replies are no PruneResponse."""
    with pytest.raises(grpc.RpcError) as caught:
        asked(stub, reply=how)
    assert "deserializing" in caught.value.details()


def test_a_reply_over_the_limit(stub: PruneServiceStub) -> None:
    """An oversized reply is refused by whoever takes less."""
    with pytest.raises(grpc.RpcError) as caught:
        asked(stub, reply="oversized")
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("how", SPOILERS)
def test_every_spoiler_changes_the_edits(how: str, stub: PruneServiceStub) -> None:
    """Spoiled edits differ from the right ones, and each kind from every other is named in the contract."""
    right = list(asked(stub).edits)
    assert list(asked(stub, edits=how).edits) != right
    assert f"`{how}`" in (Path(__file__).parents[2] / "clients" / "README.md").read_text()


@pytest.mark.parametrize(
    "faults",
    [
        {"odd": "1"},
        {"delay_ms": "soon"},
        {"status": "WRONG"},
        {"status": "OK"},
        {"edits": "odd"},
        {"reply": "odd"},
        {"status": "INTERNAL", "times": "1"},
    ],
)
def test_a_wish_that_is_not_understood_is_refused(faults: dict[str, str], stub: PruneServiceStub) -> None:
    """A misspelt fault ends the call with FAILED_PRECONDITION: it would else be a test that tests nothing."""
    with pytest.raises(grpc.RpcError) as caught:
        asked(stub, **faults)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "pinch-test-" in caught.value.details()
