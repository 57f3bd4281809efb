"""The JSON endpoints of a real service: what they say, and that it is what InsightService says."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import time_ns
from typing import Any
from urllib.parse import urlencode

import grpc
import pytest
from jsonschema import Draft202012Validator

from bench.conversations import generate_bytes
from bench.running_server import RunningServer, running_server
from pinch import PinchClient
from pinch.v1 import insight_pb2 as pb
from pinch.v1 import prune_pb2
from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch_server.rpc.insight_convert import shown_fields
from pinch_server.rpc.openapi import document
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from pinch_server.web.api import METHODS
from tests.web.month import a_month, fill

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "server" / "pinch_server" / "web" / "static" / "openapi.json"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service of two workers over three days of decisions, the last of them half an hour old."""
    state = tmp_path_factory.mktemp("state")
    url = f"sqlite:///{state}/pinch.sqlite3"
    migrate.up(url)
    engine = open_engine(url, pooled=False)
    now = time_ns() // 1000
    fill(engine, list(a_month(now - 1_800_000_000, days=3)), now)
    engine.dispose()
    with running_server(state, "--workers", "2") as running:
        yield running


@pytest.fixture(scope="module")
def stub(service: RunningServer) -> Iterator[InsightServiceStub]:
    with grpc.insecure_channel(service.grpc) as channel:
        yield InsightServiceStub(channel)


def ask(
    service: RunningServer, path: str, method: str = "GET", body: Any = None, **asked: Any
) -> tuple[int, Any]:
    query = f"?{urlencode(asked)}" if asked else ""
    with closing(http.client.HTTPConnection(service.http, timeout=30)) as connection:
        sent = None if body is None else json.dumps(body)
        connection.request(method, f"/api/v1/{path}{query}", sent, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def is_as_described(schema: str, value: Any) -> None:
    described = document()
    Draft202012Validator({"$ref": f"#/components/schemas/{schema}", **described}).validate(value)


@pytest.mark.parametrize(
    ("asked", "filters"),
    [
        ({}, {}),
        ({"window_days": 1}, {}),
        ({"route": "PASSTHROUGH"}, {"route": prune_pb2.ROUTE_PASSTHROUGH}),
        ({"model": "gpt-5.2", "window_days": 2}, {"model": "gpt-5.2"}),
        ({"format": "GEMINI"}, {"format": prune_pb2.FORMAT_GEMINI}),
    ],
)
def test_savings_are_those_of_get_savings(
    service: RunningServer, stub: InsightServiceStub, asked: dict[str, Any], filters: dict[str, Any]
) -> None:
    """Every number of the savings is the one that a gRPC caller gets, under the same name."""
    request = pb.GetSavingsRequest(
        window_days=asked.get("window_days", 30), filters=pb.SavingsFilter(**filters)
    )
    status, found = ask(service, "savings", **asked)
    assert status == 200
    assert found == {"savings": shown_fields(stub.GetSavings(request).savings)}
    assert found["savings"]["pruned_calls_30d"] > 0
    is_as_described("GetSavingsResponse", found)


def test_pages_are_those_of_list_decisions(service: RunningServer, stub: InsightServiceStub) -> None:
    """Page by page, filters and tokens included, the list is the one that a gRPC caller gets."""
    request = pb.ListDecisionsRequest(
        page_size=20, filter=pb.DecisionFilter(outcome=prune_pb2.OUTCOME_DISPATCHED, pruned=True)
    )
    asked: dict[str, Any] = {"page_size": 20, "outcome": "dispatched", "pruned": "true"}
    for _ in range(3):
        reply = stub.ListDecisions(request)
        status, found = ask(service, "decisions", **asked)
        assert status == 200
        assert found == {
            "decisions": [shown_fields(one) for one in reply.decisions],
            "next_page_token": reply.next_page_token,
        }
        assert len(found["decisions"]) == 20
        is_as_described("ListDecisionsResponse", found)
        request.page_token = asked["page_token"] = reply.next_page_token


def test_one_decision_is_that_of_get_decision(service: RunningServer, stub: InsightServiceStub) -> None:
    """A decision is shown as a gRPC caller gets it; one that is not there is a 404, what is no id a 400."""
    _, page = ask(service, "decisions", page_size=1)
    decision_id = page["decisions"][0]["decision_id"]
    status, found = ask(service, f"decisions/{decision_id}")
    assert (status, found) == (
        200,
        shown_fields(stub.GetDecision(pb.GetDecisionRequest(decision_id=decision_id))),
    )
    is_as_described("GetDecisionResponse", found)
    status, missing = ask(service, f"decisions/{'0' * 8}-0000-7000-8000-{'0' * 12}")
    assert (status, missing["error"]["code"]) == (404, "NO_DECISION")
    status, wrong = ask(service, "decisions/none")
    assert (status, wrong["error"]["violations"][0]["field"]) == (400, "decision_id")


def test_a_receipt_is_that_of_the_reply(service: RunningServer, stub: InsightServiceStub) -> None:
    """Each trim has the place, reason and sizes of the edit that the caller got, and its tool."""
    with PinchClient(service.grpc) as client:
        pruned = client.prune_body(generate_bytes(3, tokens=90_000))
    assert pruned.edits
    while True:
        # It is in the database a moment after the reply.
        status, found = ask(service, f"decisions/{pruned.decision_id}")
        if status == 200:
            break
    is_as_described("GetDecisionResponse", found)
    assert len(found["trims"]) == len(pruned.edits)
    assert all(trim["tool"] for trim in found["trims"])
    for trim, edit in zip(found["trims"], map(shown_fields, pruned.edits), strict=True):
        common = trim.keys() & edit.keys()
        assert len(common) >= 9
        assert {name: trim[name] for name in common} == {name: edit[name] for name in common}
    reply = stub.GetDecision(pb.GetDecisionRequest(decision_id=pruned.decision_id))
    assert shown_fields(reply) == found


def test_hours_add_up_to_the_savings(service: RunningServer) -> None:
    """Over a window that holds all decisions, calls and tokens of the hours add up to those of GetSavings."""
    _, hours = ask(service, "activity", window_days=30)
    _, found = ask(service, "savings", window_days=30)
    saved = found["savings"]
    assert sum(hours["calls"]) == saved["calls_30d"]
    assert sum(hours["pruned_calls"]) == saved["pruned_calls_30d"]
    assert sum(hours["tokens_saved"]) == saved["total_tokens_saved"]
    assert sum(hours["tokens_before"]) - sum(hours["tokens_after"]) == saved["total_tokens_saved"]
    assert {later - one for one, later in zip(hours["start"], hours["start"][1:], strict=False)} == {3_600}
    is_as_described("Activity", hours)


@pytest.mark.parametrize(
    ("path", "asked", "field"),
    [
        ("savings", {"window_days": 0}, "window_days"),
        ("savings", {"window_days": "many"}, "window_days"),
        ("savings", {"windowdays": 3}, "windowdays"),
        ("savings", {"window_days": 2**40}, "window_days"),
        ("savings", {"route": "UNSPECIFIED"}, "route"),
        ("activity", {"window_days": 0}, "window_days"),
        ("activity", {"window_days": 367}, "window_days"),
        ("activity", {"days": 1}, "days"),
        ("decisions", {"outcome": "lost"}, "outcome"),
        ("decisions", {"outcome": ""}, "outcome"),
        ("decisions", {"page_size": -1}, "page_size"),
        ("decisions", {"page_token": "made-up"}, "page_token"),
        ("decisions", {"pruned": "yes"}, "pruned"),
        ("decisions", {"created_from_unix_micros": 2**70}, "created_from_unix_micros"),
    ],
)
def test_a_question_that_is_not_understood_names_its_field(
    service: RunningServer, path: str, asked: dict[str, Any], field: str
) -> None:
    """A wrong field is a 400 that says which it is and what would mend it."""
    status, told = ask(service, path, **asked)
    assert (status, told["error"]["code"]) == (400, "INVALID_CALL")
    assert told["error"]["violations"][0]["field"] == field
    is_as_described("Error", told)


def test_a_knob_turned_over_http_is_turned_in_every_worker(service: RunningServer) -> None:
    """Switched off at the dashboard, savings are absent over both doors at once; then they are back."""
    for is_on in (False, True):
        status, told = ask(service, "knobs", "PUT", {"knobs": {"enabled": is_on}})
        assert (status, told["knobs"]["enabled"], told["may_turn"]) == (200, is_on, True)
        is_as_described("Knobs", told)
        for worker in (service.grpc, *service.workers):
            with grpc.insecure_channel(worker) as channel:
                reply = InsightServiceStub(channel).GetSavings(pb.GetSavingsRequest())
            assert reply.HasField("savings") is is_on
        assert ("savings" in ask(service, "savings")[1]) is is_on
        assert ask(service, "state")[1]["is_enabled"] is is_on


def test_the_state_says_how_the_service_is(service: RunningServer) -> None:
    """Version, clock, database and the newest decision are there, and no caller where no token is needed."""
    status, state = ask(service, "state")
    assert status == 200
    is_as_described("State", state)
    assert (state["is_ready"], state["is_enabled"], state["caller"]) == (True, True, None)
    assert state["database"] == {"kind": "SQLite", "problem": ""}
    assert state["newest_decision_unix_micros"] <= state["now_unix_micros"]


def test_the_described_endpoints_are_those_that_are_served() -> None:
    """The file is the one that is made of the contract, and has every endpoint with its methods."""
    assert json.loads(FILE.read_text(encoding="utf-8")) == document(), "python -m pinch_server.rpc.openapi"
    described = {
        path: tuple(sorted(method.upper() for method in methods))
        for path, methods in document()["paths"].items()
    }
    one = described.pop("/api/v1/decisions/{decision_id}")
    assert one == ("GET",)
    assert described == {path: tuple(sorted(methods)) for path, methods in METHODS.items()}
