"""Faults that a caller asks for by metadata: a faulty server in a box, for the tests of every client.

Only `pinch serve --testing` puts this around its methods; clients/README.md lists what can be asked.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import grpc

from pinch.v1 import prune_pb2 as pb
from pinch_server.rpc.spoiled import SPOILERS, UnspoiledError, spoiled

DELAY: Final = "pinch-test-delay-ms"
"""How long the answer waits (milliseconds); a call that is cancelled or out of time waits no longer."""
STATUS: Final = "pinch-test-status"
"""Name of the status code that the call ends with, such as `UNAVAILABLE`; the method is then not run."""
EDITS: Final = "pinch-test-edits"
"""How the edits of a reply to Prune are spoiled: one of `SPOILERS`."""
REPLY: Final = "pinch-test-reply"
"""What happens to the reply's bytes: `truncated`, `noise` or `oversized`."""
TIMES: Final = "pinch-test-times"
"""How many calls with this `KEY` get the faults; the later ones are served as always. Absent: all."""
KEY: Final = "pinch-test-key"
"""What `TIMES` counts by; a text of the caller's choice."""
NAMES: Final = (DELAY, STATUS, EDITS, REPLY, TIMES, KEY)
"""All that can be asked for."""

_PREFIX: Final = "pinch-test-"
_PRUNE: Final = "/pinch.v1.PruneService/Prune"
_OVERSIZED_BYTES: Final = 64 * 1024 * 1024 + 1
_MOST_KEYS: Final = 100_000

_Serve = Callable[[bytes, grpc.ServicerContext], bytes]


class AskedFaults(grpc.ServerInterceptor):  # type: ignore[type-arg] # generic in the stubs alone
    """Stands around every method with one answer, outside of all other interceptors, and sees bytes alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """The handler of a call, with the faults that its metadata ask for."""
        handler = continuation(details)
        asked = {
            str(name): str(value)
            for name, value in details.invocation_metadata or ()
            if name.startswith(_PREFIX)
        }
        if not asked or handler is None or handler.stream_unary is None:
            return handler
        inner = handler.stream_unary

        def serve(received: bytes, context: grpc.ServicerContext) -> bytes:
            # The chain waits for messages by itself, so every method takes a stream of them.
            reply: bytes = inner(iter((received,)), context)
            return reply

        def answer(received: bytes, context: grpc.ServicerContext) -> bytes:
            return self._answer(details.method, asked, serve, received, context)

        return grpc.unary_unary_rpc_method_handler(answer)

    def _answer(
        self,
        method: str,
        asked: Mapping[str, str],
        serve: _Serve,
        received: bytes,
        context: grpc.ServicerContext,
    ) -> bytes:
        wrong = _misasked(asked)
        if wrong:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, wrong)
        if not self._is_due(asked):
            return serve(received, context)
        if DELAY in asked:
            _wait(context, int(asked[DELAY]) / 1000)
        if STATUS in asked:
            context.abort(grpc.StatusCode[asked[STATUS]], f"asked for by {STATUS}")
        reply = serve(received, context)
        if EDITS in asked and method == _PRUNE:
            request, response = pb.PruneRequest.FromString(received), pb.PruneResponse.FromString(reply)
            try:
                reply = spoiled(asked[EDITS], request, response).SerializeToString()
            except UnspoiledError as error:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        return _REPLIES[asked[REPLY]](reply) if REPLY in asked else reply

    def _is_due(self, asked: Mapping[str, str]) -> bool:
        if TIMES not in asked:
            return True
        with self._lock:
            if len(self._seen) >= _MOST_KEYS:
                self._seen.clear()
            self._seen[asked[KEY]] += 1
            return self._seen[asked[KEY]] <= int(asked[TIMES])


def _oversized(_reply: bytes) -> bytes:
    return pb.PruneResponse(unchanged_reason="x" * _OVERSIZED_BYTES).SerializeToString()


_REPLIES: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    # Whatever its last field is, a message without its last byte cannot be decoded.
    "truncated": lambda reply: reply[:-1],
    "noise": lambda _reply: b"\xff" * 64,
    "oversized": _oversized,
}


def _misasked(asked: Mapping[str, str]) -> str:
    """What is wrong with a wish: a misspelt one would else be a test that tests nothing."""
    for name in asked:
        if name not in NAMES:
            return f"{name} is unknown; known: {', '.join(NAMES)}"
    for name in (DELAY, TIMES):
        if name in asked and not asked[name].isdecimal():
            return f"{name}: {asked[name]!r} is no whole number"
    if asked.get(STATUS, "OK") not in grpc.StatusCode.__members__:
        return f"{STATUS}: {asked[STATUS]!r} names no status code"
    if STATUS in asked and asked[STATUS] == "OK":
        return f"{STATUS}: OK is no fault"
    for name, known in ((EDITS, SPOILERS), (REPLY, _REPLIES)):
        if name in asked and asked[name] not in known:
            return f"{name}: {asked[name]!r} is unknown; known: {', '.join(known)}"
    return f"{TIMES} needs {KEY}" if TIMES in asked and KEY not in asked else ""


def _wait(context: grpc.ServicerContext, seconds: float) -> None:
    over = threading.Event()
    if context.add_callback(over.set):
        over.wait(seconds)
