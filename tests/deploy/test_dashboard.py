"""The dashboard: each panel asks for what there is, and a real Prometheus answers it."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from bench.running_server import running_server
from pinch import PinchClient
from pinch.v1 import prune_pb2 as pb
from tests.deploy.scraping import DEPLOY, Prometheus, prometheus
from tests.rpc.conversations import body, messages

DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
PATIENCE_SECONDS = 60.0
VARIABLES = {
    "$__rate_interval": "1m",
    "$__range": "5m",
    "$job": "pinch",
    "$instance": ".*",
}
EMPTY_WHEN_ALL_IS_WELL = {
    "Rankings without embeddings": "it shows faults of the embedder alone, and the embedded one has none",
}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries(panel: dict[str, Any]) -> list[str]:
    found = []
    for target in panel["targets"]:
        query = target["expr"]
        for name, value in VARIABLES.items():
            query = query.replace(name, value)
        found.append(query)
    return found


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has seen a service before and after a few calls of every kind."""
    state, data = tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("prometheus")
    with running_server(state) as server, prometheus(data, server.http) as found:
        until(found, 'count_over_time(pinch_build_info{job="pinch"}[1m]) >= 2')
        with PinchClient(server.grpc, timeout=60) as client:
            for results in (6, 7):
                client.prune_body(
                    body(messages(results)),
                    limits=pb.Limits(budget_tokens=2_000, keep_last_turns=1, stability=pb.STABILITY_PER_CALL),
                    context=pb.RequestContext(session_id="one"),
                )
        stored = "pinch_decisions_stored_total"
        until(found, f'{stored}{{job="pinch"}} == 2 and increase({stored}{{job="pinch"}}[1m]) > 0')
        yield found


def until(server: Prometheus, expression: str) -> None:
    """Waits until an expression has a series."""
    over = time.monotonic() + PATIENCE_SECONDS
    while not server.query(expression):
        if time.monotonic() > over:
            pytest.fail(f"Prometheus never saw {expression}")
        time.sleep(0.05)


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_every_panel_has_series(scraped: Prometheus, panel: dict[str, Any]) -> None:
    """Each query of each panel is PromQL and answers with series after a few calls, or is declared empty."""
    for query in queries(panel):
        found = scraped.query(query)
        assert bool(found) is (panel["title"] not in EMPTY_WHEN_ALL_IS_WELL), query


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_every_panel_says_what_it_shows(panel: dict[str, Any]) -> None:
    """Each panel has a sentence of its own, a unit, and a source that whoever looks can choose."""
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert {panel["datasource"]["uid"], *(target["datasource"]["uid"] for target in panel["targets"])} == {
        "${datasource}"
    }


def test_panels_stand_side_by_side() -> None:
    """No two panels share an id, a title or a place."""
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert len({panel["title"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_variables_ask_for_labels_there_are(scraped: Prometheus) -> None:
    """The lists of jobs and instances are those of a metric that every running service has."""
    named = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert named["job"]["query"]["query"] == "label_values(pinch_build_info, job)"
    assert scraped.ask("label/job/values", **{"match[]": "pinch_build_info"}) == ["pinch"]
    assert len(scraped.ask("label/instance/values", **{"match[]": 'pinch_build_info{job="pinch"}'})) == 1


def test_a_healthy_service_raises_no_alert(scraped: Prometheus) -> None:
    """Every rule is evaluated against the real series without an error, and none is pending or firing."""
    over = time.monotonic() + PATIENCE_SECONDS
    while True:
        rules = [rule for group in scraped.ask("rules")["groups"] for rule in group["rules"]]
        if rules and all(rule["health"] != "unknown" for rule in rules):
            break
        assert time.monotonic() < over
        time.sleep(0.05)
    assert {rule["name"]: (rule["health"], rule["state"]) for rule in rules} == {
        rule["name"]: ("ok", "inactive") for rule in rules
    }
