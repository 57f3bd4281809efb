"""A real LiteLLM proxy before a stub provider, set up as docs/integrations.md says."""

from __future__ import annotations

import http.client
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.running_server import RunningServer, running_server
from bench.scrape import scrape, series
from tests.plugged.conversations import ROUTES, conversation, differing
from tests.plugged.installed import ROOT, block, changed, free_port, gateway, started
from tests.plugged.provider import Provider, provider

MODELS = {"/v1/messages": "claude"}
KEY = "sk-litellm"


@dataclass
class Way:
    """LiteLLM with Pinch beside it and a provider behind it."""

    port: int
    provider: Provider
    pinch: RunningServer

    def post(self, route: str, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        status, _, answer = self.told(route, body, headers)
        return status, answer

    def told(self, route: str, body: bytes, headers: Mapping[str, str] | None = None) -> Any:
        """Sends a body on its way; status, headers and body of the answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as connection:
            sent = json.loads(body) | {"model": MODELS.get(route, "gpt-4o")}
            own = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}", **(headers or {})}
            connection.request("POST", route, json.dumps(sent), own)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def rows(self) -> list[dict[str, Any]]:
        self.pinch.stop()
        with closing(sqlite3.connect(self.pinch.database.removeprefix("sqlite:///"))) as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute("SELECT * FROM prune_decisions ORDER BY decision_id").fetchall()
        return [dict(row) for row in found]


@contextmanager
def way(at: Path, config: str, more: str = "") -> Iterator[Way]:
    """The whole way, with a configuration of the page and what else is to stand in it."""
    litellm = gateway("litellm")
    state = at / "state"
    state.mkdir()
    (at / "pinch.toml").write_text(
        "budget_tokens = 2000\nkeep_last_turns = 1\n[gateways]\n"
        'mouths = ["litellm", "headroom"]\nlisten = "127.0.0.1:0"\nmouth_seconds = 30\n'
    )
    with provider() as behind, running_server(state, "--config", str(at / "pinch.toml")) as pinch:
        port = free_port()
        text = block(config).replace("127.0.0.1:8000", f"127.0.0.1:{behind.port}")
        text = text.replace("127.0.0.1:9465", pinch.mouths).replace("timeout: 2", "timeout: 60")
        (at / "litellm.yaml").write_text(text + more)
        command = block("# LiteLLM's start").splitlines()[-1]
        command = changed(command, {"litellm --config litellm.yaml": "", "4000": str(port)})
        environment = {
            **os.environ,
            "PINCH_ADDRESS": pinch.grpc,
            "PINCH_TIMEOUT_SECONDS": "60",
            "PYTHONPATH": str(ROOT / "clients" / "python"),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_MASTER_KEY": KEY,
            "LITELLM_TELEMETRY": "False",
        }
        ready = f"http://127.0.0.1:{port}/health/liveliness"
        run = [litellm, "--config", str(at / "litellm.yaml"), *command.split()]
        with started(run, ready, at / "litellm.log", environment):
            yield Way(port, behind, pinch)


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with way(tmp_path_factory.mktemp("plugged"), "# litellm.yaml") as made:
        yield made


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with way(tmp_path_factory.mktemp("guarded"), "# litellm-guardrail.yaml") as made:
        yield made


@pytest.fixture(scope="module")
def headroom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with way(tmp_path_factory.mktemp("headroom"), "# litellm-headroom.yaml") as made:
        yield made


def shortened(made: Way, route: str, *, stream: bool) -> int:
    """How many results reach the provider shorter; all else of the conversation must be the same."""
    key = "input" if route == "/v1/responses" else "messages"
    body = conversation(route, stream=stream)
    status, answer = made.post(route, body, {"x-pinch-bypass": "true"})
    assert status == 200, answer
    untouched = made.provider.last.json[key]
    status, answer = made.post(route, body)
    assert status == 200, answer
    places = differing(untouched, made.provider.last.json[key])
    assert {path[-1] for path in places} <= {"content", "output", "text"}
    return len(places)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", ROUTES)
def test_each_route_reaches_the_provider_smaller(plugged: Way, route: str, stream: bool) -> None:
    """With the callback the provider gets what it would have got, with shorter results."""
    assert shortened(plugged, route, stream=stream) > 0


@pytest.mark.parametrize("route", ROUTES)
def test_an_answer_tells_what_became_of_its_request(plugged: Way, route: str) -> None:
    """Answers carry the decision's id and what it saved, or why nothing changed; a header can be wrong."""
    key = "input" if route == "/v1/responses" else "messages"
    body = conversation(route)
    status, headers, _ = plugged.told(route, body, {"x-pinch-bypass": "true"})
    untouched = plugged.provider.last.json[key]
    assert (status, headers["x-pinch-unchanged-reason"]) == (200, "bypass")
    for sent, reason in (
        ({"x-pinch-budget-tokens": "abc"}, "invalid"),
        ({"x-pinch-budget-tokens": "0"}, "invalid"),
        ({"x-pinch-buget-tokens": "5"}, "invalid"),
        ({"x-pinch-dry-run": "perhaps"}, "invalid"),
        ({"x-pinch-dry-run": "true"}, "dry_run"),
        ({"x-pinch-budget-tokens": "1000000"}, "within_budget"),
    ):
        status, headers, _ = plugged.told(route, body, sent)
        assert (status, headers["x-pinch-unchanged-reason"]) == (200, reason), sent
        assert plugged.provider.last.json[key] == untouched
        assert bool(headers["x-pinch-decision-id"]) == (reason != "invalid")
    status, headers, _ = plugged.told(route, body, {"x-pinch-session-id": "s"})
    assert (status, headers["x-pinch-unchanged-reason"]) == (200, None)
    assert int(headers["x-pinch-tokens-saved"]) > 0
    assert plugged.provider.last.json[key] != untouched


def test_a_dry_run_is_kept_as_one_and_no_header_of_ours_is_passed_on(tmp_path: Path) -> None:
    """A dry run leaves a row that says so; where LiteLLM passes headers on, those for Pinch stay behind."""
    forward = "general_settings: { forward_client_headers_to_llm_api: true }\n"
    with way(tmp_path, "# litellm.yaml", forward) as made:
        asked = {"x-pinch-dry-run": "true", "x-pinch-keep-last-turns": "1", "x-of-the-caller": "stays"}
        assert made.post(ROUTES[0], conversation(ROUTES[0]), asked)[0] == 200
        sent = made.provider.last.headers
        assert sent["x-of-the-caller"] == "stays"
        assert not [name for name in sent if name.startswith("x-pinch")]
        (row,) = made.rows()
    assert row["dry_run"]


def test_what_only_the_messages_route_can_say_survives(plugged: Way) -> None:
    """is_error, cache_control on results and server tool blocks reach the provider as they were."""
    long = "word " * 8_000
    said = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "is_error": True,
                    "cache_control": {"type": "ephemeral"},
                    "content": [{"type": "text", "text": long}],
                },
                {"type": "text", "text": "and then"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_1",
                    "name": "web_search",
                    "input": {"query": "q"},
                },
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "text", "text": "found"},
            ],
        },
        {"role": "user", "content": "next"},
    ]
    body = json.dumps({"max_tokens": 10, "messages": said}).encode()
    assert plugged.post("/v1/messages", body, {"x-pinch-bypass": "true"})[0] == 200
    # LiteLLM itself makes text of a search without results, with and without us.
    untouched = plugged.provider.last.json["messages"]
    assert plugged.post("/v1/messages", body)[0] == 200
    sent = plugged.provider.last.json["messages"]
    assert differing(untouched, sent) == [[2, "content", 0, "content", 0, "text"]]
    result = sent[2]["content"][0]
    assert (result["is_error"], result["cache_control"]) == (True, {"type": "ephemeral"})


def test_the_guardrail_serves_openai_shapes_and_leaves_messages_alone(guarded: Way) -> None:
    """Chat and responses are pruned through the guardrail; messages reach the provider whole."""
    for route, key in (("/v1/chat/completions", "messages"), ("/v1/responses", "input")):
        assert guarded.post(route, conversation(route))[0] == 200
        was = without_null(json.loads(conversation(route))[key])
        places = differing(was, without_null(guarded.provider.last.json[key]))
        assert places
        assert {path[-1] for path in places} <= {"content", "output"}
    messages = json.loads(conversation("/v1/messages"))["messages"]
    guarded.post("/v1/messages", conversation("/v1/messages"), {"anthropic-version": "2023-06-01"})
    assert differing(messages, guarded.provider.last.json["messages"]) == []


def test_headrooms_guardrail_serves_the_models_that_name_it(headroom: Way) -> None:
    """Through it chat and responses are pruned; a model that does not name it gets messages whole."""
    for route, key in (("/v1/chat/completions", "messages"), ("/v1/responses", "input")):
        assert headroom.post(route, conversation(route))[0] == 200
        was = without_null(json.loads(conversation(route))[key])
        places = differing(was, without_null(headroom.provider.last.json[key]))
        assert places
        assert {path[-1] for path in places} <= {"content", "output"}
    messages = json.loads(conversation("/v1/messages"))["messages"]
    assert headroom.post("/v1/messages", conversation("/v1/messages"))[0] == 200
    assert differing(messages, headroom.provider.last.json["messages"]) == []


def without_null(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without keys that say nothing, which LiteLLM takes away."""
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def test_what_the_provider_counted_is_reported(tmp_path: Path) -> None:
    """Each decision is stored as dispatched with the provider's counts, and a refusal as failed."""
    with way(tmp_path, "# litellm.yaml") as made:
        for route in ROUTES:
            for stream in (False, True):
                assert made.post(route, conversation(route, stream=stream))[0] == 200
        made.provider.status = 400
        assert made.post(ROUTES[0], conversation(ROUTES[0]))[0] == 400
        made.provider.status = 200
        # LiteLLM tells its callbacks after it has answered: its health page is behind them in the loop.
        wait_for_reports(made, 7)
        rows = made.rows()
    assert [row["outcome"] for row in rows] == ["dispatched"] * 6 + ["failed"]
    counts = ("outcome_prompt_tokens", "outcome_cached_tokens", "outcome_completion_tokens")
    assert {tuple(row[name] for name in counts) for row in rows[:6]} == {(940, 800, 7)}


def wait_for_reports(made: Way, count: int) -> None:
    """Returns once the service has been told of so many outcomes, or after a while."""
    method = 'grpc_method="ReportOutcome",grpc_service="pinch.v1.PruneService"'
    name = f'grpc_server_handled_total{{grpc_code="OK",{method}}}'
    for _ in range(600):
        if series(scrape(made.pinch.http)).get(name, 0) >= count:
            return
        time.sleep(0.05)


@pytest.mark.parametrize("config", ["# litellm.yaml", "# litellm-guardrail.yaml", "# litellm-headroom.yaml"])
def test_without_a_server_requests_go_on_as_they_came(tmp_path: Path, config: str) -> None:
    """With Pinch stopped, every route answers, and the provider gets the whole conversation."""
    with way(tmp_path, config) as made:
        made.pinch.stop()
        for route in ROUTES:
            body = conversation(route)
            status, answer = made.post(route, body)
            assert status == 200, answer
            assert len(made.provider.last.body) > 30_000
