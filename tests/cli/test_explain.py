"""`pinch explain` and `pinch prune --explain`: which results were trimmed, and why."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.conversations import generate_bytes
from bench.running_server import RunningServer, running_server
from pinch import PinchClient
from tests.cli.commands import invoke
from tests.store.samples import an_id

BODY = generate_bytes(3, tokens=90_000)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture(scope="module")
def decision_id(service: RunningServer) -> str:
    """The id of a decision that trimmed something, once it is in the database."""
    with PinchClient(service.grpc) as client:
        pruned = client.prune_body(BODY)
    while invoke("explain", pruned.decision_id, "--server", service.grpc).exit_code:
        continue
    return pruned.decision_id


@pytest.fixture(params=["database", "server"])
def where(request: pytest.FixtureRequest, service: RunningServer) -> list[str]:
    """The options that lead to the decisions, both ways."""
    if request.param == "server":
        return ["--server", service.grpc]
    return ["--database-url", service.database]


def test_each_trim_has_a_line(where: list[str], decision_id: str) -> None:
    """The account names the decision and has a line for each trim of the JSON, in its order."""
    told = invoke("explain", decision_id, *where)
    shown = json.loads(invoke("explain", decision_id, *where, "--json").stdout)
    assert told.exit_code == 0
    assert decision_id in told.stdout
    head, *rows = told.stdout.split("\n\n")[1].splitlines()
    assert head.split() == ["message", "tool", "what", "why", "before", "after", "left", "decided"]
    assert len(rows) == len(shown["trims"]) > 5
    for row, trim in zip(rows, shown["trims"], strict=True):
        assert row.split()[0].partition(".")[0] == str(trim["message_index"])
        assert f"{trim['tokens_before']:,}" in row
        assert trim["tool"] in row


def test_a_pruned_body_is_explained(tmp_path: Path) -> None:
    """With --explain standard error has a line for each edit, and standard output the body alone."""
    stats = tmp_path / "stats.json"
    plain = invoke("prune", stdin=BODY)
    told = invoke("prune", "--explain", "--stats", str(stats), stdin=BODY)
    assert told.exit_code == 0
    assert told.stdout == plain.stdout
    edits = json.loads(stats.read_text())["edits"]
    head, *rows = told.stderr.split("\n\n")[1].splitlines()
    assert "why" in head
    assert len(rows) == len(edits) > 5
    assert all("older than the protected" in row or "outsized" in row for row in rows)


def test_explaining_is_for_people_and_one_body() -> None:
    """With --json or --out-dir, --explain is refused with what to leave out."""
    for other in (["--json"], ["--out-dir", "somewhere"]):
        refused = invoke("prune", "--explain", *other, stdin=BODY)
        assert refused.exit_code == 2
        assert "leave out --out-dir and --json" in refused.stderr


def test_what_is_no_id_and_what_is_not_there(where: list[str]) -> None:
    """A text that is no id is refused, an id that nobody knows is told in one line."""
    assert invoke("explain", "something", *where).exit_code == 2
    missing = invoke("explain", an_id(99), *where)
    assert missing.exit_code == 1
    assert "no decision of that id is stored" in missing.stderr
    assert len(missing.stderr.splitlines()) == 1
