"""The endpoints for gateways of a whole service, started as its operator does."""

from __future__ import annotations

import base64
import http.client
import json
import sqlite3
import ssl
import subprocess
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
import yaml

from bench.running_server import RunningServer, running_server
from bench.scrape import scrape, series
from pinch_server.settings import MouthName, load_settings
from tests.plugged.installed import block, changed
from tests.rpc.conversations import messages
from tests.services.certificates import Authority

WORDS = ("naïve", "And now?", "You mend code")
JSON = {"Content-Type": "application/json"}
TOKEN = "router-router-router-token"


def config(at: Path, text: str = "") -> Path:
    path = at / "pinch.toml"
    path.write_text(
        "budget_tokens = 2000\nkeep_last_turns = 1\n[gateways]\n"
        'mouths = ["compact", "prune"]\nlisten = "127.0.0.1:0"\nmouth_seconds = 30\n' + text
    )
    return path


def post(
    running: RunningServer, path: str, headers: dict[str, str], tls: ssl.SSLContext | None = None
) -> tuple[int, str]:
    made = (
        http.client.HTTPConnection(running.mouths, timeout=30)
        if tls is None
        else http.client.HTTPSConnection(running.mouths, timeout=30, context=tls)
    )
    with closing(made) as connection:
        connection.request("POST", path, json.dumps({"messages": messages()}).encode(), JSON | headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("x-pinch-decision-id", "")


def stored(running: RunningServer) -> list[str]:
    with closing(sqlite3.connect(running.database.removeprefix("sqlite:///"))) as connection:
        return [row[0] for row in connection.execute("SELECT decision_id FROM prune_decisions")]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_gateway_is_served_by_every_process(tmp_path: Path, workers: str) -> None:
    """One port serves all workers; each decision is stored, each request counted on one page and logged."""
    with running_server(tmp_path, "--workers", workers, "--config", str(config(tmp_path))) as running:
        ids = [post(running, "/compact", {"x-request-id": "the-one"})[1] for _ in range(8)]
        assert post(running, "/v1/compress", {})[0] == 404
        counted = series(scrape(running.http))
        assert counted['pinch_gateway_requests_total{gateway="compact",result="pruned"}'] == 8
        assert counted['pinch_gateway_seconds_count{gateway="compact"}'] == 8
        assert running.stop() == 0
    assert sorted(stored(running)) == sorted(ids)
    words = running.log.read_text()
    assert f"gateways on http://{running.mouths};" in words
    lines = [json.loads(line) for line in words.splitlines() if line.startswith("{")]
    calls = [line for line in lines if line["event"] == "call" and line["method"] == "/compact"]
    assert sorted(line["decision_id"] for line in calls) == sorted(ids)
    assert {(line["request_id"], line["result"], line["code"]) for line in calls} == {
        ("the-one", "pruned", "OK")
    }
    for file in tmp_path.rglob("*"):
        if file.is_file():
            for word in WORDS:
                assert word.encode() not in file.read_bytes(), (file, word)


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    """What docs/integrations.md says to set for the HTTP endpoints is what names all of them."""
    path = tmp_path / "pinch.toml"
    path.write_text(block("# pinch.toml"))
    settings = load_settings(path, {})
    assert set(settings.gateways.mouths) == set(get_args(MouthName))
    assert settings.gateways.listen == "127.0.0.1:9465"


def test_the_inline_compaction_of_the_page(tmp_path: Path) -> None:
    """What the page says to paste for llm-d leads to an endpoint that keeps the step's protocol."""
    steps = yaml.safe_load(block("# llm-d's inline compaction"))["pipeline"]["steps"]
    assert [step["type"] for step in steps] == ["request-inline-compaction", "render"]
    address = steps[0]["params"]["address"]
    assert address == f"http://{load_settings(None, {}).gateways.listen}"
    opted_in = {"x-llm-d-optimization": "compaction"}
    with running_server(tmp_path, "--config", str(config(tmp_path))) as running:
        assert post(running, "/compact", opted_in)[0] == 200
        assert post(running, "/compact", {**opted_in, "x-pinch-budget-tokens": "1000000"})[0] == 204
        assert post(running, "/compact", {**opted_in, "x-pinch-budget-tokens": "many"})[0] == 204


def test_the_commands_of_the_page_for_curl(tmp_path: Path) -> None:
    """What the page says to run with curl brings the same smaller body from both endpoints."""
    (tmp_path / "body.json").write_text(json.dumps({"messages": messages()}))
    with running_server(tmp_path, "--config", str(config(tmp_path))) as running:
        commands = changed(block("# Ask with curl"), {"127.0.0.1:9465": running.mouths})
        subprocess.run(["bash", "-ec", commands], cwd=tmp_path, check=True)
    smaller = (tmp_path / "smaller.json").read_bytes()
    assert 0 < len(smaller) < (tmp_path / "body.json").stat().st_size
    reply = json.loads((tmp_path / "reply.json").read_bytes())
    assert base64.b64decode(reply["body"]["json"]) == smaller


def test_no_port_is_opened_unless_a_mouth_is_named(tmp_path: Path) -> None:
    """By default there is nothing for gateways, and the ready line says so."""
    with running_server(tmp_path) as running:
        assert running.mouths == ""


def test_it_is_guarded_as_the_other_ports_are(tmp_path: Path) -> None:
    """With TLS and tokens, a gateway speaks TLS and brings a token of the role prune."""
    authority = Authority(tmp_path)
    pair = authority.issue("server")
    tokens = tmp_path / "tokens"
    tokens.write_text(f"router prune plain:{TOKEN}\n")
    tokens.chmod(0o600)
    text = f'[server]\ntokens = "{tokens}"\n[server.tls]\ncert = "{pair.chain}"\nkey = "{pair.key}"\n'
    text += "http = true\n"
    state = tmp_path / "state"
    state.mkdir()
    with running_server(state, "--config", str(config(tmp_path, text))) as running:
        trusting = ssl.create_default_context(cafile=str(authority.roots))
        assert post(running, "/compact", {}, trusting)[0] == 401
        # Without a token nobody learns which endpoints are open.
        for path in ("/v1/compress", "/nothing"):
            assert post(running, path, {}, trusting)[0] == 401
            assert post(running, path, {"Authorization": f"Bearer {TOKEN}"}, trusting)[0] == 404
        status, decision = post(running, "/compact", {"Authorization": f"Bearer {TOKEN}"}, trusting)
        assert (status, bool(decision)) == (200, True)
        with pytest.raises((http.client.HTTPException, OSError)):
            post(running, "/compact", {"Authorization": f"Bearer {TOKEN}"})
