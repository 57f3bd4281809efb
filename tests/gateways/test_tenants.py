"""Whose a gateway's request is: what is kept of it is its own tenant's, as over gRPC."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import pytest

from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.app import App
from pinch_server.gateways.envoy.v1 import external_processor_pb2 as envoy
from pinch_server.rpc.server import PROCESS
from pinch_server.settings import Settings, load_settings
from tests.rpc.conversations import body
from tests.rpc.service import refusal

BLUE, RED = "b" * 40, "r" * 40
TOML = """
budget_tokens = 2000
keep_last_turns = 1
[server]
listen = "127.0.0.1:0"
http_listen = "127.0.0.1:0"
workers = 1
[gateways]
mouths = ["compact"]
listen = "127.0.0.1:0"
mouth_seconds = 30
envoy_seconds = 30
[originals]
enabled = true
key = "a secret of the tests"
[extract]
tenant = "the-house"
"""


def settings(at: Path, *, tokens: bool) -> Settings:
    at.mkdir(exist_ok=True)
    file = at / "tokens"
    file.write_text(f"blue prune plain:{BLUE}\nred prune plain:{RED}\n")
    file.chmod(0o600)
    config = at / "pinch.toml"
    config.write_text(TOML)
    chosen = {"PINCH_STORE__STATE_DIR": str(at)} | ({"PINCH_SERVER__TOKENS": str(file)} if tokens else {})
    return load_settings(config, chosen)


@contextmanager
def serving(at: Path, *, tokens: bool) -> Iterator[App]:
    app = App(settings(at, tokens=tokens))
    app.start()
    try:
        yield app
    finally:
        app.stop()


def bearer(token: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {token}")] if token else []


def by_compact(app: App, token: str) -> None:
    """Prunes as llm-d asks for it."""
    with closing(http.client.HTTPConnection(app.addresses.mouths, timeout=30)) as connection:
        connection.request(
            "POST", "/compact", body(), {"Content-Type": "application/json", **dict(bearer(token))}
        )
        assert connection.getresponse().status == 200


def by_envoy(app: App, token: str) -> None:
    """Prunes as Envoy asks for it."""
    sent = {":method": "POST", ":path": "/v1/chat/completions"}
    headers = envoy.HeaderMap(headers=[envoy.HeaderValue(key=key, value=text) for key, text in sent.items()])
    steps = [
        envoy.ProcessingRequest(request_headers=envoy.HttpHeaders(headers=headers)),
        envoy.ProcessingRequest(request_body=envoy.HttpBody(body=body(), end_of_stream=True)),
    ]
    with grpc.insecure_channel(app.addresses.grpc) as channel:
        call = channel.stream_stream(
            PROCESS, envoy.ProcessingRequest.SerializeToString, envoy.ProcessingResponse.FromString
        )
        answers = list(call(iter(steps), timeout=30, metadata=bearer(token)))
    assert answers[-1].request_body.response.body_mutation.body


def references(at: Path, token: str) -> list[tuple[str, str]]:
    """The originals of the conversation with the references that gRPC gives them for a token's tenant."""
    with serving(at, tokens=bool(token)) as app, grpc.insecure_channel(app.addresses.grpc) as channel:
        request = pb.PruneRequest(body=pb.RequestBody(json=body()))
        edits = PruneServiceStub(channel).Prune(request, timeout=30, metadata=bearer(token)).edits
    whole = body()
    assert edits
    return [(edit.reference, json.loads(whole[edit.offset : edit.offset + edit.length])) for edit in edits]


def expanded(app: App, reference: str, token: str) -> str:
    with grpc.insecure_channel(app.addresses.grpc) as channel:
        request = pb.ExpandRequest(reference=reference)
        return str(PruneServiceStub(channel).Expand(request, timeout=30, metadata=bearer(token)).text)


@pytest.mark.parametrize("ask", [by_compact, by_envoy])
@pytest.mark.parametrize("token", [BLUE, ""], ids=["token", "none"])
def test_originals_of_a_gateway_are_its_tenants(
    tmp_path: Path, ask: Callable[[App, str], None], token: str
) -> None:
    """What a gateway had pruned is expanded for the tenant of its token, else for that of the settings."""
    # Started anew in between: what was written behind the reply is written.
    told = references(tmp_path / "told", token)
    with serving(tmp_path / "asked", tokens=bool(token)) as app:
        ask(app, token)
    with serving(tmp_path / "asked", tokens=bool(token)) as app:
        assert [expanded(app, reference, token) for reference, _ in told] == [text for _, text in told]


@pytest.mark.parametrize("ask", [by_compact, by_envoy])
def test_another_tenants_are_a_miss(tmp_path: Path, ask: Callable[[App, str], None]) -> None:
    """What a gateway had pruned with one token does not exist for another, nor under the other's names."""
    own, others = references(tmp_path / "blue", BLUE), references(tmp_path / "red", RED)
    with serving(tmp_path / "asked", tokens=True) as app:
        ask(app, BLUE)
    with serving(tmp_path / "asked", tokens=True) as app:
        for reference, _ in (*own, *others):
            with pytest.raises(grpc.RpcError) as caught:
                expanded(app, reference, RED)
            assert refusal(caught.value).code is grpc.StatusCode.NOT_FOUND
