"""A real Portkey gateway before a stub provider, set up as docs/integrations.md says."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.running_server import RunningServer, running_server
from tests.plugged.conversations import conversation, differing
from tests.plugged.installed import ROOT, block, changed, free_port, started
from tests.plugged.provider import Provider, provider

GATEWAY = ROOT / "tests/plugged/portkey/node_modules/@portkey-ai/gateway/build/start-server.js"
PROVIDERS = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}
TOKEN = "portkey-portkey-portkey-token"


@dataclass
class Way:
    """Portkey's gateway with Pinch beside it and a provider behind it."""

    port: int
    provider: Provider
    pinch: RunningServer
    changes: Mapping[str, str]

    def post(self, route: str, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Sends a body on its way with the page's configuration; status and JSON of the answer."""
        own = {"127.0.0.1:9465": self.pinch.mouths} | dict(self.changes)
        config = json.loads(changed(block('{ "before_request_hooks"'), own)) | {
            "provider": PROVIDERS.get(route, "openai"),
            "api_key": "sk-provider",
            "custom_host": f"http://127.0.0.1:{self.provider.port}/v1",
        }
        sent = {"content-type": "application/json", "x-portkey-config": json.dumps(config), **(headers or {})}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request("POST", route, body, sent)
            answer = connection.getresponse()
            text = answer.read()
            is_json = answer.headers["content-type"].startswith("application/json")
            return answer.status, json.loads(text) if is_json else text

    def rows(self) -> list[dict[str, Any]]:
        self.pinch.stop()
        with closing(sqlite3.connect(self.pinch.database.removeprefix("sqlite:///"))) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT * FROM prune_decisions")]


@contextmanager
def way(at: Path, config: str = "", changes: Mapping[str, str] | None = None) -> Iterator[Way]:
    """The whole way, with some of the page's configuration changed."""
    node = shutil.which("node")
    if node is None or not GATEWAY.exists():
        pytest.skip("Portkey's gateway is not installed; `make gateways` installs it where npm is")
    state = at / "state"
    state.mkdir()
    (at / "pinch.toml").write_text(
        "budget_tokens = 2000\nkeep_last_turns = 1\n[gateways]\n"
        f'mouths = ["portkey"]\nlisten = "127.0.0.1:0"\nmouth_seconds = 30\n{config}'
    )
    with provider() as behind, running_server(state, "--config", str(at / "pinch.toml")) as pinch:
        port = free_port()
        # Its own guard against addresses of this machine, behind which the stub is.
        environment = {**os.environ, "TRUSTED_CUSTOM_HOSTS": "127.0.0.1"}
        run = [node, str(GATEWAY), f"--port={port}", "--headless"]
        with started(run, f"http://127.0.0.1:{port}/", at / "portkey.log", environment):
            yield Way(port, behind, pinch, {'"timeout": 2000': '"timeout": 60000', **(changes or {})})


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with way(tmp_path_factory.mktemp("standing")) as made:
        yield made


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", PROVIDERS)
def test_each_route_reaches_the_provider_smaller(standing: Way, route: str, stream: bool) -> None:
    """The provider gets the same request with shorter results, and the client its answer."""
    body = conversation(route, stream=stream)
    # Its gateway of this version cannot pass a streamed answer on, with or without any check.
    assert standing.post(route, body)[0] == 200 or stream
    places = differing(json.loads(body), standing.provider.last.json)
    assert places
    assert {path[-1] for path in places} == {"content"}


def test_responses_pass_it_by(standing: Way) -> None:
    """Portkey runs no hooks before /v1/responses, so the provider gets those requests as they came."""
    body = conversation("/v1/responses")
    assert standing.post("/v1/responses", body)[0] == 200
    assert differing(json.loads(body), standing.provider.last.json) == []


def test_limits_stand_among_the_checks_headers(standing: Way) -> None:
    """As the page says: `x-pinch-*` of the check hold for every request of the configuration."""
    route, body = "/v1/chat/completions", conversation("/v1/chat/completions")
    standing.changes, kept = (
        {**standing.changes, '"Bearer TOKEN"': '"", "x-pinch-dry-run": "1"'},
        standing.changes,
    )
    try:
        assert standing.post(route, body)[0] == 200
    finally:
        standing.changes = kept
    assert differing(json.loads(body), standing.provider.last.json) == []


def test_a_session_of_its_metadata_and_a_token(tmp_path: Path) -> None:
    """With the check's token it is served, with another all passes; metadata name the session."""
    tokens = tmp_path / "tokens"
    tokens.write_text(f"portkey prune plain:{TOKEN}\n")
    tokens.chmod(0o600)
    route, body = "/v1/chat/completions", conversation("/v1/chat/completions")
    with way(tmp_path, f'[server]\ntokens = "{tokens}"\n', {"TOKEN": TOKEN}) as made:
        for _ in range(2):
            assert made.post(route, body, {"x-portkey-metadata": '{"session_id": "s"}'})[0] == 200
        assert differing(json.loads(body), made.provider.last.json)
        made.changes = {"TOKEN": "nobodys-nobodys-nobodys"}
        assert made.post(route, body)[0] == 200
        assert differing(json.loads(body), made.provider.last.json) == []
        rows = made.rows()
    assert len(rows) == 2
    assert len({row["session_hash"] for row in rows} - {None}) == 1


def test_without_a_server_requests_go_on_as_they_came(tmp_path: Path) -> None:
    """With Pinch stopped in its tracks past the check's timeout, or gone, the provider gets the original."""
    route, body = "/v1/chat/completions", conversation("/v1/chat/completions")
    with way(tmp_path) as made:
        made.changes = {'"timeout": 2000': '"timeout": 300'}
        made.pinch.process.send_signal(signal.SIGSTOP)
        try:
            assert made.post(route, body)[0] == 200
        finally:
            made.pinch.process.send_signal(signal.SIGCONT)
        assert differing(json.loads(body), made.provider.last.json) == []
        made.pinch.stop()
        assert made.post(route, body)[0] == 200
        assert differing(json.loads(body), made.provider.last.json) == []
    assert len(made.provider.sent) == 2
