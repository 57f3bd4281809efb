"""A real Envoy before a stub provider, set up as docs/integrations.md says."""

from __future__ import annotations

import http.client
import json
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.running_server import RunningServer, running_server
from bench.scrape import scrape, series
from tests.plugged.conversations import ROUTES, conversation, differing
from tests.plugged.installed import block, changed, free_port, gateway, started
from tests.plugged.provider import Provider, provider

PATIENT = {
    "message_timeout: 0.2s": "message_timeout: 60s",
    "connect_timeout: 0.1s": "connect_timeout: 5s",
}
"""Time limits that a busy machine cannot reach."""


@dataclass
class Way:
    """Envoy with Pinch beside it and a provider behind it."""

    port: int
    provider: Provider
    pinch: RunningServer

    def post(self, route: str, body: bytes, headers: Mapping[str, str] | None = None) -> Any:
        """Sends a body on its way; status, headers and body of the answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request("POST", route, body, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def rows(self) -> list[dict[str, Any]]:
        """The decisions as the database has them, once the service has stopped."""
        self.pinch.stop()
        with closing(sqlite3.connect(self.pinch.database.removeprefix("sqlite:///"))) as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute("SELECT * FROM prune_decisions ORDER BY decision_id").fetchall()
        return [dict(row) for row in found]


@contextmanager
def way(at: Path, config: str = "envoy_seconds = 30", changes: Mapping[str, str] = PATIENT) -> Iterator[Way]:
    """The whole way, with some of the page's configuration changed."""
    envoy = gateway("envoy")
    state = at / "state"
    state.mkdir()
    (at / "pinch.toml").write_text(f"budget_tokens = 2000\nkeep_last_turns = 1\n[gateways]\n{config}\n")
    with provider() as behind, running_server(state, "--config", str(at / "pinch.toml")) as pinch:
        port = free_port()
        own = {
            "port_value: 10000": f"port_value: {port}",
            "port_value: 50051": f"port_value: {pinch.grpc.rpartition(':')[2]}",
            "port_value: 8000": f"port_value: {behind.port}",
        }
        text = changed(block("# envoy.yaml"), own | dict(changes))
        (at / "envoy.yaml").write_text(text)
        command = [envoy, "-c", str(at / "envoy.yaml"), "--concurrency", "1", "--use-dynamic-base-id"]
        with started([*command, "-l", "warning"], f"http://127.0.0.1:{port}/", at / "envoy.log"):
            yield Way(port, behind, pinch)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with way(tmp_path_factory.mktemp("standing")) as made:
        yield made


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", ROUTES)
def test_each_route_reaches_the_provider_smaller(standing: Way, route: str, stream: bool) -> None:
    """The provider gets the same request with shorter results and the right length, and nothing of ours."""
    body = conversation(route, stream=stream)
    status, headers, answer = standing.post(
        route, body, {"x-pinch-session-id": "s", "x-pinch-nothing-known": "", "Authorization": "Bearer sk"}
    )
    # A header that is unknown leaves the request as it is, and says so.
    assert (status, headers["x-pinch-unchanged-reason"]) == (200, "invalid")
    assert standing.provider.last.body == body
    assert not [name for name in standing.provider.last.headers if name.startswith("x-pinch")]

    status, headers, answer = standing.post(
        route, body, {"x-pinch-session-id": "s", "Authorization": "Bearer sk"}
    )
    sent = standing.provider.last
    assert status == 200
    places = differing(json.loads(body), sent.json)
    assert places
    assert {path[-1] for path in places} <= {"content", "output"}
    assert sent.headers["content-length"] == str(len(sent.body))
    assert sent.headers["authorization"] == "Bearer sk"
    assert not [name for name in sent.headers if name.startswith("x-pinch")]
    assert int(headers["x-pinch-tokens-saved"]) > 0
    assert headers["x-pinch-decision-id"]
    assert b"done" in answer or b"ne" in answer


def test_what_the_provider_counted_is_reported(tmp_path: Path) -> None:
    """Each decision is stored as dispatched, with the provider's counts from objects, streams and gzip."""
    with way(tmp_path) as made:
        asked = [(route, stream, {}) for route in ROUTES for stream in (False, True)]
        for route, stream, headers in [*asked, (ROUTES[0], False, {"Accept-Encoding": "gzip"})]:
            assert made.post(route, conversation(route, stream=stream), headers)[0] == 200
        rows = made.rows()
    assert [row["outcome"] for row in rows] == ["dispatched"] * 7
    assert {
        (row["outcome_prompt_tokens"], row["outcome_cached_tokens"], row["outcome_completion_tokens"])
        for row in rows
    } == {(940, 800, 7)}
    assert [row["outcome_cache_write_tokens"] for row in rows] == [None, None, 40, 40, None, None, None]
    assert {row["outcome_model"] for row in rows} == {"gpt-4o-2024", "claude-sonnet-4"}


def test_an_answer_streams_as_it_comes(standing: Way) -> None:
    """The first event is there while the provider still holds back the last."""
    standing.provider.hold.clear()
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", standing.port, timeout=60)) as connection:
            connection.request("POST", ROUTES[0], conversation(ROUTES[0], stream=True))
            answer = connection.getresponse()
            assert answer.readline().startswith(b"data: ")
            standing.provider.hold.set()
            assert answer.read().endswith(b"data: [DONE]\n\n")
    finally:
        standing.provider.hold.set()


def test_five_megabytes_pass(standing: Way) -> None:
    """A body of 5 MB is swapped like any other."""
    body = conversation(ROUTES[0], chars=850_000)
    assert len(body) > 5_000_000
    status, headers, _ = standing.post(ROUTES[0], body)
    assert (status, headers["x-pinch-unchanged-reason"]) == (200, None)
    assert len(standing.provider.last.body) < len(body) // 2
    assert differing(json.loads(body), standing.provider.last.json)


@pytest.mark.parametrize("route", ROUTES)
def test_a_path_of_the_operators_own_is_pruned_by_its_body(standing: Way, route: str) -> None:
    """Where the path tells nothing, the body tells its dialect; one that does not tell goes on as it came."""
    body = conversation(route)
    status, headers, _ = standing.post("/llm/invoke", body)
    assert (status, headers["x-pinch-unchanged-reason"]) == (200, None)
    assert int(headers["x-pinch-tokens-saved"]) > 0
    assert differing(json.loads(body), standing.provider.last.json)
    stored = json.loads(body)
    del stored["model"]
    status, headers, answer = standing.post("/llm/invoke", json.dumps(stored).encode())
    assert (status, headers["x-pinch-unchanged-reason"]) == (200, "no_request")
    assert standing.provider.last.json == stored
    assert answer


def test_a_body_with_nothing_to_trim_passes_as_it_is(standing: Way) -> None:
    """Within its budget, not JSON, empty, of another kind or method: the provider gets the same bytes."""
    within = conversation(ROUTES[0])
    for route, body, headers in (
        (ROUTES[0], within, {"x-pinch-budget-tokens": "1000000"}),
        (ROUTES[0], within, {"x-pinch-bypass": "true"}),
        (ROUTES[0], within, {"x-pinch-dry-run": "true"}),
        (ROUTES[0], b"nope", {}),
        (ROUTES[0], b"", {}),
        ("/v1/embeddings", within, {}),
        ("/v1/messages/count_tokens", within, {}),
    ):
        standing.post(route, body, headers)
        assert standing.provider.last.body == body, (route, headers)
        assert not [name for name in standing.provider.last.headers if name.startswith("x-pinch")]


def test_a_bypass_is_no_decision(tmp_path: Path) -> None:
    """A bypass leaves no row; a dry run leaves a row that says so, and neither is counted as a change."""
    with way(tmp_path) as made:
        made.post(ROUTES[0], conversation(ROUTES[0]), {"x-pinch-bypass": "true"})
        made.post(ROUTES[0], conversation(ROUTES[0]), {"x-pinch-dry-run": "true"})
        counted = series(scrape(made.pinch.http))
        assert counted['pinch_gateway_requests_total{gateway="envoy",result="bypass"}'] == 1
        (row,) = made.rows()
    assert row["dry_run"]


def test_a_provider_that_refuses_is_not_counted(tmp_path: Path) -> None:
    """An error of the provider reaches the client as it is, and the decision is stored as FAILED."""
    with way(tmp_path) as made:
        made.provider.status = 429
        status, _, answer = made.post(ROUTES[0], conversation(ROUTES[0]))
        assert (status, answer) == (429, b'{"error":{"message":"no"}}')
        (row,) = made.rows()
    assert row["outcome"] == "failed"


def test_without_a_server_the_request_goes_on_as_it_came(tmp_path: Path) -> None:
    """With the documented failure_mode_allow, a Pinch that is down costs nothing but its pruning."""
    with way(tmp_path, changes={}) as made:
        made.pinch.stop()
        body = conversation(ROUTES[0])
        status, headers, _ = made.post(ROUTES[0], body)
        assert (status, headers["x-pinch-decision-id"]) == (200, None)
        assert made.provider.last.body == body


def test_a_server_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    """With the documented message_timeout, a Pinch that stands still is passed by, and counts no saving."""
    with way(tmp_path, changes={}) as made:
        body = conversation(ROUTES[0])
        made.pinch.process.send_signal(signal.SIGSTOP)
        try:
            status, headers, _ = made.post(ROUTES[0], body)
        finally:
            made.pinch.process.send_signal(signal.SIGCONT)
        assert (status, headers["x-pinch-decision-id"]) == (200, None)
        assert made.provider.last.body == body
        assert [row["outcome"] for row in made.rows()] in ([], ["rejected"])


def test_without_failure_mode_allow_a_failure_is_the_clients(tmp_path: Path) -> None:
    """As the page says: where Envoy may not go on, it answers 504 for a Pinch that hangs, 500 for none."""
    changes = {"failure_mode_allow: true": "failure_mode_allow: false"}
    with way(tmp_path, changes=changes) as made:
        body = conversation(ROUTES[0])
        made.pinch.process.send_signal(signal.SIGSTOP)
        try:
            assert made.post(ROUTES[0], body)[0] == 504
        finally:
            made.pinch.process.send_signal(signal.SIGCONT)
        made.pinch.stop()
        assert made.post(ROUTES[0], body)[0] == 500
        assert made.provider.sent == []


def test_a_body_above_envoys_own_limit_is_answered_by_envoy(tmp_path: Path) -> None:
    """As the page says: what is larger than Envoy may hold is a 413, whatever Pinch does."""
    limit = {"per_connection_buffer_limit_bytes: 52428800": "per_connection_buffer_limit_bytes: 65536"}
    with way(tmp_path, changes=PATIENT | limit) as made:
        assert made.post(ROUTES[0], conversation(ROUTES[0], chars=200_000))[0] == 413
        assert made.post(ROUTES[0], conversation(ROUTES[0]))[0] == 200


def test_without_the_answers_body_the_outcome_is_reported_without_counts(tmp_path: Path) -> None:
    """As the page says: where no answer goes by Pinch, its status alone is known."""
    less = {"response_body_mode: STREAMED": "response_body_mode: NONE"}
    with way(tmp_path, changes=PATIENT | less) as made:
        status, headers, _ = made.post(ROUTES[0], conversation(ROUTES[0]))
        assert (status, bool(headers["x-pinch-decision-id"])) == (200, True)
        (row,) = made.rows()
    assert (row["outcome"], row["outcome_prompt_tokens"]) == ("dispatched", None)


def test_a_late_decision_is_none(tmp_path: Path) -> None:
    """After our own deadline the request goes on as it came, while Envoy still waits, and no row is left."""
    with way(tmp_path, config="envoy_seconds = 0.01") as made:
        body = conversation(ROUTES[0], chars=850_000)
        status, headers, _ = made.post(ROUTES[0], body)
        assert (status, headers["x-pinch-unchanged-reason"]) == (200, "late")
        assert made.provider.last.body == body
        counted = series(scrape(made.pinch.http))
        assert counted['pinch_gateway_requests_total{gateway="envoy",result="late"}'] == 1
        assert [row["outcome"] for row in made.rows()] in ([], ["rejected"])


def test_a_server_that_dies_does_not_end_the_answer(tmp_path: Path) -> None:
    """When Pinch is killed while an answer streams, the client gets the whole of it."""
    with way(tmp_path) as made:
        made.provider.hold.clear()
        with closing(http.client.HTTPConnection("127.0.0.1", made.port, timeout=60)) as connection:
            connection.request("POST", ROUTES[0], conversation(ROUTES[0], stream=True))
            answer = connection.getresponse()
            assert answer.readline().startswith(b"data: ")
            made.pinch.process.kill()
            made.pinch.process.wait()
            made.provider.hold.set()
            assert answer.read().endswith(b"data: [DONE]\n\n")


def test_more_at_once_than_streams_go_on_as_they_came(tmp_path: Path) -> None:
    """A request beyond gateways.envoy_streams is not pruned and not delayed."""
    with way(tmp_path, config="envoy_seconds = 30\nenvoy_streams = 1") as made:
        made.provider.hold.clear()
        body = conversation(ROUTES[0])
        with closing(http.client.HTTPConnection("127.0.0.1", made.port, timeout=60)) as connection:
            connection.request("POST", ROUTES[0], conversation(ROUTES[0], stream=True))
            answer = connection.getresponse()
            assert answer.readline().startswith(b"data: ")
            status, headers, _ = made.post(ROUTES[0], body)
            assert (status, headers["x-pinch-decision-id"]) == (200, None)
            assert made.provider.last.body == body
            made.provider.hold.set()
            answer.read()


def test_envoy_brings_a_token(tmp_path: Path) -> None:
    """With tokens, Envoy sends one of the role prune as initial metadata; without it nothing is pruned."""
    tokens = tmp_path / "tokens"
    tokens.write_text("envoy prune plain:envoy-envoy-envoy-token\n")
    tokens.chmod(0o600)
    config = f'envoy_seconds = 30\n[server]\ntokens = "{tokens}"'
    line = "envoy_grpc: { cluster_name: pinch }"
    without, with_one = tmp_path / "without", tmp_path / "with"
    without.mkdir()
    with_one.mkdir()
    body = conversation(ROUTES[0])
    with way(without, config) as made:
        assert made.post(ROUTES[0], body)[0] == 200
        assert made.provider.last.body == body
    token = block("# Envoy's token").partition("\n")[2].replace("TOKEN", "envoy-envoy-envoy-token")
    more = "".join(f"\n{' ' * 24}{row}" for row in token.rstrip().splitlines())
    with way(with_one, config, {line: line + more, **PATIENT}) as made:
        assert made.post(ROUTES[0], body)[0] == 200
        assert len(made.provider.last.body) < len(body)
