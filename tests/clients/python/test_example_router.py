"""The example router, over HTTP, between a real Pinch service and a stub of an upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc
import pytest

from bench.conversations import generate_bytes
from example_router.models import Model, most_tokens, pick
from example_router.router import PATH, Router
from pinch import Measured, PinchClient
from pinch.v1 import insight_pb2 as pb
from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch.v1.prune_pb2 import Outcome, Route

SMALL, LARGE = Model("small", 160_000), Model("large", 1_000_000)
LONG = generate_bytes(1, tokens=100_000, images=False)


class Upstream(ThreadingHTTPServer):
    """Answers like a model, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.bodies: list[Any] = []
        self.status = 200


class _Answering(BaseHTTPRequestHandler):
    server: Upstream

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        answer = json.dumps({"usage": {"prompt_tokens": 41_000, "completion_tokens": 7}}).encode()
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def running(server: Any) -> Iterator[str]:
    """Runs an HTTP server in a thread; its base URL."""
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()


def post(url: str, body: bytes) -> tuple[int, Any]:
    request = Request(url + PATH, body, {"content-type": "application/json"})  # noqa: S310 our own address
    try:
        with urlopen(request, timeout=60) as reply:  # noqa: S310 likewise
            return reply.status, json.load(reply)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@contextmanager
def routing(address: str, upstream: Upstream, *models: Model) -> Iterator[str]:
    """A router between a Pinch service and an upstream."""
    with (
        PinchClient(address, timeout=60) as client,
        running(upstream) as up,
        running(Router(("127.0.0.1", 0), client, up, models)) as url,
    ):
        yield url


def newest(address: str, outcome: int) -> pb.Decision:
    """The newest decision once its outcome is stored."""
    with grpc.insecure_channel(address) as channel:
        insight = InsightServiceStub(channel)
        while True:
            page = insight.ListDecisions(pb.ListDecisionsRequest(page_size=1), timeout=60)
            if page.decisions and page.decisions[0].outcome == outcome:
                return page.decisions[0]


def test_a_long_conversation_goes_smaller_to_the_small_model(address: str, upstream: Upstream) -> None:
    """C9: what is forwarded is pruned, the model fits what ships, and the outcome is on the decision."""
    with routing(address, upstream, SMALL, LARGE) as url:
        status, answer = post(url, LONG)
    assert (status, answer["usage"]["completion_tokens"]) == (200, 7)
    (sent,) = upstream.bodies
    given = json.loads(LONG)
    assert sent["model"] == "small"
    assert len(json.dumps(sent)) < 0.7 * len(json.dumps(given))
    assert len(sent["messages"]) == len(given["messages"])
    assert sent["messages"][-1] == given["messages"][-1]
    decision = newest(address, Outcome.OUTCOME_DISPATCHED)
    assert decision.usage.prompt_tokens == 41_000


def test_without_pinch_the_original_goes_to_the_largest(upstream: Upstream) -> None:
    """C1: a router whose Pinch service is gone forwards what it was given."""
    with routing("127.0.0.1:1", upstream, SMALL, LARGE) as url:
        assert post(url, LONG)[0] == 200
    (sent,) = upstream.bodies
    assert sent == {**json.loads(LONG), "model": "large"}


def test_a_session_that_is_no_text_does_no_harm(address: str, upstream: Upstream) -> None:
    """A `user` with half a surrogate pair, which JSON can spell, does not stop the request."""
    body = LONG[:-1] + b',"user":"\\ud800"}'
    with routing(address, upstream, SMALL, LARGE) as url:
        status, _ = post(url, body)
    assert status == 200
    assert upstream.bodies[0]["user"] == "\ud800"


def test_a_prompt_for_no_model_is_refused(address: str, upstream: Upstream) -> None:
    """A prompt that fits no context is not forwarded, and its decision says REJECTED."""
    with routing(address, upstream, Model("tiny", 1_000)) as url:
        assert post(url, LONG)[0] == 413
    assert upstream.bodies == []
    newest(address, Outcome.OUTCOME_REJECTED)


def test_a_named_model_is_passed_through_to(address: str, upstream: Upstream) -> None:
    """A request that names a model goes to that one, pruned once, and is stored as PASSTHROUGH."""
    named = json.dumps({**json.loads(LONG), "model": "large"}).encode()
    with routing(address, upstream, SMALL, LARGE) as url:
        assert post(url, named)[0] == 200
    (sent,) = upstream.bodies
    assert sent["model"] == "large"
    assert len(json.dumps(sent)) < 0.7 * len(named)
    assert newest(address, Outcome.OUTCOME_DISPATCHED).route == Route.ROUTE_PASSTHROUGH


def test_a_named_model_that_is_too_small_is_not_called(address: str, upstream: Upstream) -> None:
    """Passed through or not, a prompt that does not fit is REJECTED, though another model would take it."""
    named = json.dumps({**json.loads(LONG), "model": "tiny"}).encode()
    with routing(address, upstream, Model("tiny", 1_000), LARGE) as url:
        assert post(url, named)[0] == 413
    assert upstream.bodies == []
    assert newest(address, Outcome.OUTCOME_REJECTED).route == Route.ROUTE_PASSTHROUGH


def test_a_failing_upstream_is_passed_on(address: str, upstream: Upstream) -> None:
    """The upstream's status is the router's, and the decision says FAILED."""
    upstream.status = 503
    with routing(address, upstream, LARGE) as url:
        assert post(url, LONG)[0] == 503
    newest(address, Outcome.OUTCOME_FAILED)


@pytest.mark.parametrize("body", [b"no json", b"[]", b"\xff"])
def test_a_body_that_is_no_object_is_refused(body: bytes, address: str, upstream: Upstream) -> None:
    """What is no JSON object is the caller's fault."""
    with routing(address, upstream, LARGE) as url:
        assert post(url, body)[0] == 400


def test_a_hard_turn_gets_the_strongest_that_fits() -> None:
    """The turn frame decides between the models whose context holds the prompt's upper bound."""
    measured = Measured(tokens=50_000, method="chars3", error_bound=0.5)
    assert most_tokens(measured) == 100_000
    assert pick((SMALL, LARGE), measured, "please refactor this") == LARGE
    assert pick((SMALL, LARGE), measured, "thanks") == SMALL
    assert pick((Model("tiny", 99_999),), measured, "thanks") is None
