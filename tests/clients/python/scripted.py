"""A real gRPC server whose PruneService answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

import grpc

from pinch.v1.prune_pb2 import (
    Edit,
    PruneRequest,
    PruneResponse,
    PruneStats,
    ReportOutcomeRequest,
    ReportOutcomeResponse,
    TrimAction,
)

Step = Callable[[Any, grpc.ServicerContext], Any]


@dataclass
class Call:
    """One call as the server saw it."""

    request: Any
    metadata: dict[str, str]
    time_remaining: float


@dataclass
class ScriptedServer:
    """Answers each call with the next step, and repeats the last one for ever. Bytes go out undecoded."""

    address: str = "127.0.0.1:0"
    credentials: grpc.ServerCredentials | None = None
    steps: list[Step] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._released = threading.Event()
        self._lock = threading.Lock()
        limits = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._server = grpc.server(ThreadPoolExecutor(max_workers=8), options=limits)
        self._server.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(
                    "pinch.v1.PruneService",
                    {
                        "Prune": self._handler(PruneRequest),
                        "ReportOutcome": self._handler(ReportOutcomeRequest),
                    },
                )
            ]
        )
        port = (
            self._server.add_insecure_port(self.address)
            if self.credentials is None
            else self._server.add_secure_port(self.address, self.credentials)
        )
        if not self.address.startswith("unix:"):
            self.address = f"{self.address.rpartition(':')[0]}:{port}"
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.stop(None).wait()

    def answer(self, *steps: Step) -> None:
        self.steps = list(steps)

    def hang(self, _request: Any, _context: grpc.ServicerContext) -> PruneResponse:
        """A step that answers only when the server stops."""
        self._released.wait()
        return PruneResponse()

    def _handler(self, request_type: type) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(
            self._serve,
            request_deserializer=request_type.FromString,
            response_serializer=lambda reply: (
                reply if isinstance(reply, bytes) else reply.SerializeToString()
            ),
        )

    def _serve(self, request: Any, context: grpc.ServicerContext) -> Any:
        metadata = {pair.key: pair.value for pair in context.invocation_metadata()}
        with self._lock:
            self.calls.append(Call(request, metadata, context.time_remaining()))
            step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        return step(request, context)


def status(code: grpc.StatusCode, details: str = "") -> Step:
    """A step that ends the call with a status."""

    def step(_: Any, context: grpc.ServicerContext) -> None:
        context.abort(code, details)

    return step


def reply(response: Any) -> Step:
    """A step that answers with one response, whatever was asked."""
    return lambda _request, _context: response


def byte_edit(body: bytes, old: bytes, new: bytes) -> Edit:
    """The edit that replaces the one place where `old` stands in a body."""
    assert body.count(old) == 1
    return Edit(
        offset=body.index(old),
        length=len(old),
        replacement=new,
        replaced_sha256=sha256(old).digest(),
        action=TrimAction.TRIM_ACTION_OMITTED,
        is_new=True,
    )


def trims(old: bytes, new: bytes) -> Step:
    """A step that replaces `old` in the body that it was sent."""

    def step(request: PruneRequest, _: grpc.ServicerContext) -> PruneResponse:
        return PruneResponse(
            edits=[byte_edit(request.body.json, old, new)],
            stats=PruneStats(pruned=True, original_tokens=100, final_tokens=60, tokens_saved=40),
            decision_id="01890000-0000-7000-8000-000000000001",
            persisted=True,
            first_changed_message=2,
        )

    return step


def within_budget(_: PruneRequest, __: grpc.ServicerContext) -> PruneResponse:
    """A step that changes nothing."""
    return PruneResponse(unchanged_reason="within_budget", decision_id="d", persisted=True)


def reported(_: ReportOutcomeRequest, __: grpc.ServicerContext) -> ReportOutcomeResponse:
    """A step that accepts a report."""
    return ReportOutcomeResponse(persisted=True)
