"""Questions about stored decisions over gRPC, answered from a database of each kind."""

import base64
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import grpc
import pytest
from sqlalchemy import Engine

from pinch.v1 import insight_pb2 as pb
from pinch.v1 import prune_pb2
from pinch_server.core.savings import Objective
from pinch_server.core.session import session_hash
from pinch_server.store import listing, migrate
from pinch_server.store.engine import open_engine
from pinch_server.store.insight import DatabaseInsight
from pinch_server.store.writer import DecisionWriter
from tests.rpc.conversations import body
from tests.rpc.service import Kept, Service, refusal, running
from tests.store.samples import NOW, CountingObserver, a_decision, an_id, an_outcome

MINUTE = 60_000_000
OBJECTIVE = Objective(assumed_cache_rate=Decimal("0.9"), billing_reset_day=1)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database with the current schema, of each kind in turn."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    else:
        url = str(request.getfixturevalue("postgres_url"))
    migrate.up(url)
    engine = open_engine(url)
    yield engine
    engine.dispose()


@pytest.fixture
def writer(engine: Engine) -> DecisionWriter:
    return DecisionWriter(engine, CountingObserver())


@pytest.fixture
def asked(engine: Engine) -> Iterator[Service]:
    """A service that answers from the database."""
    with running(insight=DatabaseInsight(engine, grace_us=5 * MINUTE), objective=OBJECTIVE) as service:
        yield service


def now() -> int:
    """The service's own clock decides what is in a window."""
    import time

    return time.time_ns() // 1000


def ids(reply: pb.ListDecisionsResponse) -> list[str]:
    return [decision.decision_id for decision in reply.decisions]


def listed(service: Service, **chosen: Any) -> list[str]:
    return ids(service.insight.ListDecisions(pb.ListDecisionsRequest(filter=pb.DecisionFilter(**chosen))))


def refused(call: Any, request: Any) -> dict[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(request)
    found = refusal(caught.value)
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    return found.violations


def test_savings_have_every_key(asked: Service, writer: DecisionWriter) -> None:
    """One dispatched, one unreported and old, one fresh, one rejected call: two count, at the blend."""
    made = now()
    writer.write(
        [
            a_decision(1, created_at=made),
            a_decision(2, created_at=made - 6 * MINUTE, pinch_final_tokens=90_000),
            a_decision(3, created_at=made - MINUTE),
            a_decision(4, created_at=made - MINUTE),
        ],
        [
            an_outcome(1, prompt_tokens=None),
            an_outcome(4, outcome="REJECTED"),
        ],
        made,
    )
    found = asked.insight.GetSavings(pb.GetSavingsRequest()).savings
    assert (found.window_days, found.calls_30d, found.pruned_calls_30d) == (30, 2, 1)
    assert (found.share_pruned, found.total_tokens_saved, found.median_tokens_saved) == (0.5, 41_000, 41_000)
    # 41,000 tokens at 0.1 x $3 + 0.9 x $0.30 = $0.57 a million.
    assert found.dollars_saved_usd_30d == "0.023370"
    assert (found.unpriced_calls, found.reset_date[-3:], found.next_reset_date[-3:]) == (0, "-01", "-01")


def test_savings_are_absent_while_pruning_is_off(engine: Engine) -> None:
    """A service that prunes nothing has no savings to show, not zero savings."""
    insight = DatabaseInsight(engine, grace_us=0)
    with running(insight=insight, is_enabled=False) as service:
        assert not service.insight.GetSavings(pb.GetSavingsRequest()).HasField("savings")


def test_savings_of_some_calls(asked: Service, writer: DecisionWriter) -> None:
    """Route, model and format choose the calls, and the window its length."""
    made = now()
    writer.write(
        [
            a_decision(1, created_at=made - 10 * MINUTE),
            a_decision(2, created_at=made - 10 * MINUTE, route="PASSTHROUGH"),
            a_decision(3, created_at=made - 10 * MINUTE, model="other"),
            a_decision(4, created_at=made - 10 * MINUTE, format="gemini"),
            a_decision(5, created_at=made - 2 * 1_440 * MINUTE),
        ],
        [],
        made,
    )
    for filters, days, calls in (
        (pb.SavingsFilter(), None, 5),
        (pb.SavingsFilter(), 1, 4),
        (pb.SavingsFilter(route=prune_pb2.ROUTE_PASSTHROUGH), None, 1),
        (pb.SavingsFilter(model="other"), None, 1),
        (pb.SavingsFilter(format=prune_pb2.FORMAT_GEMINI), None, 1),
        (pb.SavingsFilter(format=prune_pb2.FORMAT_OPENAI_CHAT, model="some-model"), 1, 2),
        (pb.SavingsFilter(model="nul\x00"), None, 0),
    ):
        request = pb.GetSavingsRequest(filters=filters, window_days=days)
        assert asked.insight.GetSavings(request).savings.calls_30d == calls, filters


def test_a_window_out_of_range_is_refused_with_all_else(asked: Service) -> None:
    """Everything wrong with the question is told at once."""
    request = pb.GetSavingsRequest(window_days=0, filters=pb.SavingsFilter(route=9, format=9))  # type: ignore[arg-type]
    found = refused(asked.insight.GetSavings, request)
    assert found.keys() == {"window_days", "filters.route", "filters.format"}


def test_a_decision_comes_back_with_its_outcome(asked: Service, writer: DecisionWriter) -> None:
    """Everything stored is told: sizes, prices, the prefix probe, and what became of the request."""
    writer.write([a_decision()], [an_outcome()], NOW)
    found = asked.insight.GetDecision(pb.GetDecisionRequest(decision_id=an_id(1).upper())).decision
    assert found == pb.Decision(
        decision_id=an_id(1),
        created_at_unix_micros=NOW + 1,
        request_id="request-1",
        session_hash="5e55",
        route=prune_pb2.ROUTE_ROUTED,
        model="some-model",
        format=prune_pb2.FORMAT_OPENAI_CHAT,
        pinch_original_tokens=90_000,
        pinch_final_tokens=49_000,
        extra_fixed_tokens=1_200,
        messages=81,
        candidates=30,
        elided=20,
        omitted=3,
        capped=1,
        budget_met=True,
        ranking=prune_pb2.RANKING_UNIFORM,
        stability=prune_pb2.STABILITY_PER_CALL,
        latency_micros=2_345,
        rates=prune_pb2.Rates(prompt="3.00", cached_prompt="0.30"),
        prefix=prune_pb2.PrefixProbe(previous_messages=79, matching_messages=79, matching_tokens=88_000),
        settings_fingerprint="f1f1",
        outcome=prune_pb2.OUTCOME_DISPATCHED,
        outcome_at_unix_micros=NOW + 5_000_000,
        selected_model="chosen-model",
        usage=prune_pb2.TokenUsage(
            prompt_tokens=49_100, cached_tokens=40_000, cache_write_tokens=9_000, completion_tokens=300
        ),
        cost_usd="0.0421",
    )


def test_a_pending_decision_says_so(asked: Service, writer: DecisionWriter) -> None:
    """Without a report the outcome is PENDING, and a known model's prices are the table's."""
    bare = a_decision(
        model="claude-sonnet-4-5", prompt_rate=None, cached_rate=None, prefix_previous_messages=None
    )
    writer.write([bare], [], NOW)
    found = asked.insight.GetDecision(pb.GetDecisionRequest(decision_id=an_id(1))).decision
    assert found.outcome == prune_pb2.OUTCOME_PENDING
    for absent in ("usage", "prefix", "outcome_at_unix_micros"):
        assert not found.HasField(absent)  # type: ignore[arg-type]
    assert found.rates == prune_pb2.Rates(prompt="3", cached_prompt="0.3", cache_write="3.75")


def test_an_unknown_decision_is_not_found(asked: Service) -> None:
    """An id that is not stored is NOT_FOUND, and one that is none is refused."""
    with pytest.raises(grpc.RpcError) as caught:
        asked.insight.GetDecision(pb.GetDecisionRequest(decision_id=an_id(1)))
    assert (refusal(caught.value).code, refusal(caught.value).reason) == (
        grpc.StatusCode.NOT_FOUND,
        "NO_DECISION",
    )
    assert refused(asked.insight.GetDecision, pb.GetDecisionRequest(decision_id="x")).keys() == {
        "decision_id"
    }


def test_pages_survive_inserts(asked: Service, writer: DecisionWriter) -> None:
    """Decisions that come between two pages are on neither, none is shown twice and none is left out."""
    writer.write([a_decision(number) for number in range(0, 50, 2)], [], NOW)
    expected = [an_id(number) for number in range(48, -1, -2)]
    request = pb.ListDecisionsRequest(page_size=4)
    seen: list[str] = []
    for newer in range(1, 100):
        page = asked.insight.ListDecisions(request)
        seen += ids(page)
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
        writer.write([a_decision(1_000 + newer)], [], NOW)
    assert seen == expected
    assert len(ids(page)) == 1


def test_decisions_of_one_moment_are_told_apart(asked: Service, writer: DecisionWriter) -> None:
    """Where many decisions have one time, their ids keep the pages apart."""
    writer.write([a_decision(number, created_at=NOW) for number in range(7)], [], NOW)
    request = pb.ListDecisionsRequest(page_size=3)
    pages = []
    while not pages or request.page_token:
        page = asked.insight.ListDecisions(request)
        pages.append(ids(page))
        request.page_token = page.next_page_token
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [one for page in pages for one in page] == [an_id(number) for number in range(6, -1, -1)]


def test_each_filter_chooses(asked: Service, writer: DecisionWriter) -> None:
    """Every field of the filter narrows the list, alone and together."""
    writer.write(
        [
            a_decision(0, session_hash=session_hash("the session", b"key")),
            a_decision(1, route="PASSTHROUGH", model="other"),
            a_decision(2, format="chat", dry_run=True),
            a_decision(3, format="gemini", pinch_final_tokens=90_000),
            a_decision(4, pinch_enabled=False, pinch_original_tokens=None, pinch_final_tokens=None),
        ],
        [an_outcome(1, outcome="FAILED"), an_outcome(3)],
        NOW,
    )
    for chosen, numbers in (
        ({}, [4, 3, 2, 1, 0]),
        ({"created_from_unix_micros": NOW + 3}, [4, 3]),
        ({"created_before_unix_micros": NOW + 1}, [0]),
        ({"route": prune_pb2.ROUTE_PASSTHROUGH}, [1]),
        ({"model": "other"}, [1]),
        ({"format": prune_pb2.FORMAT_GEMINI}, [3]),
        ({"outcome": prune_pb2.OUTCOME_FAILED}, [1]),
        ({"outcome": prune_pb2.OUTCOME_PENDING}, [4, 2, 0]),
        ({"request_id": "request-2"}, [2]),
        ({"session_id": "the session"}, [0]),
        ({"session_id": "another"}, []),
        ({"pruned": True}, [2, 1, 0]),
        ({"pruned": False}, [4, 3]),
        ({"dry_run": True}, [2]),
        ({"dry_run": False, "pruned": True}, [1, 0]),
    ):
        assert listed(asked, **chosen) == [an_id(number) for number in numbers], chosen


def test_bad_pages_are_refused(asked: Service, writer: DecisionWriter) -> None:
    """A token that is none, that is damaged or of another filter, a size below zero: INVALID_ARGUMENT."""
    writer.write([a_decision(number) for number in range(3)], [], NOW)
    token = asked.insight.ListDecisions(pb.ListDecisionsRequest(page_size=1)).next_page_token
    too_large = base64.urlsafe_b64encode(f"1 {2**63} {an_id(1)} 00000000".encode()).decode()
    # A checksum that fits, and a text that a database does not take.
    checksum = base64.urlsafe_b64decode(token).split()[-1]
    with_nul = base64.urlsafe_b64encode(b"1 5 nul\x00 " + checksum).decode()
    not_text = base64.urlsafe_b64encode(b"1 5 \xff\xfe " + checksum).decode()
    for bad in ("x", "e30=", token[:-8], "é", "*" * 20, too_large, with_nul, not_text):
        assert refused(asked.insight.ListDecisions, pb.ListDecisionsRequest(page_token=bad)).keys() == {
            "page_token"
        }
    other = pb.ListDecisionsRequest(
        page_token=token,
        page_size=-1,
        filter=pb.DecisionFilter(model="m", route=9, outcome=9),  # type: ignore[arg-type]
    )
    found = refused(asked.insight.ListDecisions, other)
    assert found.keys() == {"page_token", "page_size", "filter.route", "filter.outcome"}
    assert "another filter" in found["page_token"]


def test_pages_reach_what_was_made_before_1970(asked: Service, writer: DecisionWriter) -> None:
    """A clock that was far wrong costs no page: its decisions are the last of the list."""
    writer.write([a_decision(number, created_at=-number) for number in range(1, 4)], [], NOW)
    request = pb.ListDecisionsRequest(page_size=2)
    first = asked.insight.ListDecisions(request)
    request.page_token = first.next_page_token
    assert ids(first) + ids(asked.insight.ListDecisions(request)) == [an_id(number) for number in (1, 2, 3)]


def test_a_rare_filter_is_answered_in_steps(
    asked: Service, writer: DecisionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no index leads to is looked for in so many decisions a call; the token leads to the end."""
    monkeypatch.setitem(listing.page.__kwdefaults__, "most", 10)
    writer.write([a_decision(number) for number in range(35)], [an_outcome(3, outcome="FAILED")], NOW)
    request = pb.ListDecisionsRequest(filter=pb.DecisionFilter(outcome=prune_pb2.OUTCOME_FAILED))
    pages = []
    while not pages or request.page_token:
        page = asked.insight.ListDecisions(request)
        pages.append(ids(page))
        request.page_token = page.next_page_token
    assert pages == [[], [], [], [an_id(3)]]


def test_an_index_leads_to_a_request_and_a_session(
    asked: Service, writer: DecisionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long ago they were made, decisions of one request or session are on the first page."""
    monkeypatch.setitem(listing.page.__kwdefaults__, "most", 10)
    made = [a_decision(number, session_hash=session_hash(str(number), b"key")) for number in range(35)]
    writer.write(made, [], NOW)
    assert listed(asked, request_id="request-3", model="some-model") == [an_id(3)]
    assert listed(asked, session_id="3", model="some-model") == [an_id(3)]


def test_a_page_has_its_bounds(asked: Service, writer: DecisionWriter) -> None:
    """No size means 50, and more than a thousand means a thousand."""
    writer.write([a_decision(number) for number in range(1_001)], [], NOW)
    for size, most in ((0, 50), (1_000, 1_000), (5_000, 1_000)):
        page = asked.insight.ListDecisions(pb.ListDecisionsRequest(page_size=size))
        assert len(page.decisions) == most
        assert page.next_page_token


def test_a_database_that_is_down_is_unavailable(service: Service) -> None:
    """Each question is UNAVAILABLE while the database is, and says that it may be asked again."""
    for call, request in (
        (service.insight.GetSavings, pb.GetSavingsRequest()),
        (service.insight.GetDecision, pb.GetDecisionRequest(decision_id=an_id(1))),
        (service.insight.ListDecisions, pb.ListDecisionsRequest()),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call(request)  # type: ignore[operator]
        found = refusal(caught.value)
        assert (found.code, found.reason) == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
        assert "try again" in found.message


def test_a_database_without_tables_is_unavailable(tmp_path: Path) -> None:
    """A real database's own complaint, with its statement and address, stays inside."""
    engine = open_engine(f"sqlite:///{tmp_path}/pinch.sqlite3")
    with (
        running(insight=DatabaseInsight(engine, grace_us=0)) as service,
        pytest.raises(grpc.RpcError) as caught,
    ):
        service.insight.GetSavings(pb.GetSavingsRequest())
    engine.dispose()
    found = refusal(caught.value)
    assert found.code is grpc.StatusCode.UNAVAILABLE
    assert "savings_periods" not in found.message


def test_a_row_says_what_was_sent_before_and_where_it_changed(service: Service, kept: Kept) -> None:
    """A call that trims has the sizes by which induced cache writes are told, and no other call has."""
    service.prune.Prune(prune_pb2.PruneRequest(body=prune_pb2.RequestBody(json=body())))
    trimmed = kept.decisions[-1]
    assert trimmed.pinch_final_tokens is not None
    assert trimmed.sent_before_tokens is not None
    assert trimmed.unchanged_prefix_tokens is not None
    assert 0 < trimmed.unchanged_prefix_tokens < trimmed.sent_before_tokens < trimmed.pinch_final_tokens
    service.prune.Prune(prune_pb2.PruneRequest(body=prune_pb2.RequestBody(json=body()), dry_run=True))
    service.prune.Prune(prune_pb2.PruneRequest(body=prune_pb2.RequestBody(json=body([]))))
    assert kept.decisions[-1].sent_before_tokens is None
