"""No word of a conversation is kept anywhere: not in the database, journals, logs or metrics."""

import json
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from sqlalchemy import select

from bench.running_server import running_server
from bench.scrape import scrape
from pinch.v1 import insight_pb2
from pinch.v1 import prune_pb2 as pb
from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.store.engine import open_engine
from pinch_server.store.tables import metadata, prune_decisions
from tests.rpc.conversations import body, messages, typed

PLANTED = ("xylophone-in-the-user-turn", "quartz-in-the-tool-result", "vortex-in-the-arguments")
SESSION = "jukebox-session-of-somebody"
TENANT = "walrus-and-daughters"
SMALL = pb.Limits(budget_tokens=2_000, keep_last_turns=1)


def planted() -> bytes:
    """A body with words to look for wherever a conversation has words."""
    said = messages()
    said[1]["content"] += f" {PLANTED[0]}"
    for message in said:
        if message["role"] == "tool":
            message["content"] = (f"{PLANTED[1]} " * 300)[:6_000]
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.dumps({"path": PLANTED[2]})
    return body(said)


def requests() -> Iterator[pb.PruneRequest]:
    """Calls of every kind, some of which go wrong."""
    context = pb.RequestContext(session_id=SESSION, request_id="r", model="m", route=pb.ROUTE_ROUTED)
    whole = planted()
    for json_bytes in (whole, whole[:-40], b"[" + whole, b'{"messages": "' + PLANTED[0].encode() + b'"}'):
        yield pb.PruneRequest(body=pb.RequestBody(json=json_bytes), limits=SMALL, context=context)
    yield pb.PruneRequest(body=pb.RequestBody(json=whole), limits=SMALL, context=context, dry_run=True)
    yield pb.PruneRequest(
        body=pb.RequestBody(json=whole, format=pb.FORMAT_GEMINI), limits=SMALL, context=context
    )
    yield pb.PruneRequest(body=pb.RequestBody(json=whole), limits=pb.Limits(budget_tokens=0), context=context)
    yield pb.PruneRequest(chat=typed(json.loads(whole)["messages"]), limits=SMALL, context=context)


@pytest.fixture(params=["sqlite", "postgresql"])
def options(request: pytest.FixtureRequest) -> list[str]:
    """Options of `serve` for a database of each kind."""
    if request.param == "sqlite":
        return []
    return ["--migrate", "--database-url", str(request.getfixturevalue("postgres_url"))]


@pytest.fixture
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Settings that name the tenant, out of the service's own directory."""
    file = tmp_path_factory.mktemp("settings") / "pinch.toml"
    file.write_text(f'[extract]\ntenant = "{TENANT}"\n')
    return str(file)


def test_nothing_that_was_said_is_kept(tmp_path: Path, options: list[str], config: str) -> None:
    """After a busy run, no planted word, no session's id and no tenant is in anything the service left."""
    kept: dict[str, bytes] = {}
    with (
        running_server(tmp_path, "--config", config, *options) as server,
        grpc.insecure_channel(server.grpc) as channel,
    ):
        prune, insight = PruneServiceStub(channel), InsightServiceStub(channel)
        persisted = []
        for request in [*requests()] * 5:
            try:
                reply = prune.Prune(request)
            except grpc.RpcError as refused:
                kept.setdefault("refusals", b"")
                kept["refusals"] += str(refused.details()).encode()
                continue
            persisted.append(reply.decision_id)
            prune.ReportOutcome(
                pb.ReportOutcomeRequest(decision_id=reply.decision_id, outcome=pb.OUTCOME_DISPATCHED)
            )
        # The journal while it still holds something, the metrics while they are served.
        for file in (tmp_path / "journal").iterdir():
            kept[f"journal {file.name}"] = file.read_bytes()
        kept["metrics"] = scrape(server.http).encode()
        chosen = insight_pb2.ListDecisionsRequest(
            filter=insight_pb2.DecisionFilter(session_id=SESSION), page_size=1_000
        )
        kept["insight"] = str(insight.ListDecisions(chosen)).encode()
        assert server.stop() == 0
        database = server.database if not options else options[-1]
    assert persisted
    for file in tmp_path.rglob("*"):
        if file.is_file():
            kept[str(file.relative_to(tmp_path))] = file.read_bytes()
    engine = open_engine(database)
    with engine.connect() as connection:
        assert connection.scalars(select(prune_decisions.c.tenant_hash).limit(1)).all() != [None]
        for table in metadata.sorted_tables:
            kept[f"table {table.name}"] = str(connection.execute(select(table)).all()).encode()
    engine.dispose()
    assert persisted[0] in kept["table prune_decisions"].decode()
    assert persisted[0].encode() in kept["server.log"]
    for place, found in kept.items():
        for word in (*PLANTED, SESSION, TENANT, "You mend code", "And now?"):
            assert word.encode() not in found, (word, place)
