"""The HTTP side: takes OpenAI chat bodies, forwards what Pinch makes of them, reports what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from example_router.models import Model, pick
from pinch import Outcome, PinchClient, RequestContext, Route, TokenUsage

PATH = "/v1/chat/completions"
UPSTREAM_SECONDS = 600.0


class Router(ThreadingHTTPServer):
    """A router on one address; `serve_forever` runs it.

    Args:
        address: Host and port to listen on; port 0 takes a free one.
        pinch: The client, shared by all threads.
        upstream: Base URL of the OpenAI-compatible service, without `/v1`.
        models: What it serves, the cheapest first.
    """

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], pinch: PinchClient, upstream: str, models: Sequence[Model]
    ) -> None:
        super().__init__(address, _Handler)
        self._pinch = pinch
        self._upstream = upstream
        self._models = models

    def route(self, body: dict[str, Any]) -> tuple[int, bytes]:
        """Answers one request: status and JSON body.

        A request that names a model of ours passes through to it, when its prompt fits; any other is routed
        by what is left of its prompt. Either way it is pruned once, and before it is measured.
        """
        named = next((model for model in self._models if model.name == body.get("model")), None)
        route = Route.ROUTE_PASSTHROUGH if named else Route.ROUTE_ROUTED
        context = RequestContext(route=route, session_id=_session(body))
        pruned = self._pinch.prune_openai(body, context=context)
        turn = pruned.turn_frame.message if pruned.turn_frame else ""
        model = pick([named] if named else self._models, pruned.measured, turn)
        if model is None:
            self._pinch.report_outcome(pruned.decision_id, Outcome.OUTCOME_REJECTED)
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _error("no model takes a prompt of this size")
        status, answer = _forward(self._upstream, {**pruned.body, "model": model.name})
        outcome = Outcome.OUTCOME_DISPATCHED if status == HTTPStatus.OK else Outcome.OUTCOME_FAILED
        self._pinch.report_outcome(
            pruned.decision_id, outcome, selected_model=model.name, usage=_usage(answer)
        )
        return status, answer


class _Handler(BaseHTTPRequestHandler):
    server: Router

    def do_POST(self) -> None:
        if self.path != PATH:
            self._answer(HTTPStatus.NOT_FOUND, _error("not found"))
            return
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            self._answer(HTTPStatus.BAD_REQUEST, _error("the body is no JSON object"))
            return
        self._answer(*self.server.route(body))

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: an example's output is its answers."""

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _session(body: dict[str, Any]) -> str:
    """The caller's own name for the session, which a body's JSON may have as what is no text in UTF-8."""
    return str(body.get("user", "")).encode(errors="replace").decode()


def _forward(upstream: str, body: dict[str, Any]) -> tuple[int, bytes]:
    request = Request(  # noqa: S310 the operator names the upstream
        f"{upstream}{PATH}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urlopen(request, timeout=UPSTREAM_SECONDS) as reply:  # noqa: S310 likewise
            return reply.status, reply.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()
    except (OSError, HTTPException):
        return HTTPStatus.BAD_GATEWAY, _error("the upstream cannot be reached")


def _usage(answer: bytes) -> TokenUsage | None:
    """What the upstream counted, where it says so."""
    try:
        usage = json.loads(answer)["usage"]
        return TokenUsage(prompt_tokens=usage["prompt_tokens"], completion_tokens=usage["completion_tokens"])
    except (ValueError, KeyError, TypeError):
        return None


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message}}).encode()
