"""The driver of the Python client: ``python -m bench.clients.python_driver ADDRESS BODY_FILE CALLS``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from pinch import MESSAGE_LIMIT_BYTES, PinchClient
from pinch.v1.prune_pb2 import PruneRequest, ReplyForm, RequestBody
from pinch.v1.prune_pb2_grpc import PruneServiceStub

_SECONDS = 600.0
_OPTIONS = [("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES)]


def main() -> int:
    """Measures both forms; 1 when the client did not shorten the body."""
    address, file, calls = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    body = file.read_bytes()
    given = json.loads(body)
    with (
        grpc.insecure_channel(address, _OPTIONS) as channel,
        PinchClient(address, timeout=_SECONDS, strict=True) as client,
    ):
        stub = PruneServiceStub(channel)

        def bare() -> bool:
            request = PruneRequest(body=RequestBody(json=body), reply_form=ReplyForm.REPLY_FORM_EDITS)
            return bool(stub.Prune(request, timeout=_SECONDS).edits)

        forms = {"bytes": paired(bare, lambda: client.prune_body(body).pruned, calls)}
        # Only what is sent as the same bytes can be answered by a server that repeats itself.
        if json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode() == body:
            forms["object"] = paired(bare, lambda: client.prune_body(given).pruned, calls)
    if not all(form.pop("pruned") for form in forms.values()):
        return 1
    print(json.dumps({"language": "Python", "forms": forms}))
    return 0


def paired(bare: Callable[[], bool], by_client: Callable[[], bool], calls: int) -> dict[str, Any]:
    """Times of both calls, in turns; the first pair only opens the channels."""
    found: dict[str, Any] = {"pruned": bare() and by_client()}
    for name in ("stub", "client"):
        found[f"{name}_cpu_ms"], found[f"{name}_wall_ms"] = [], []
    for _ in range(calls):
        for name, call in (("stub", bare), ("client", by_client)):
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            found[f"{name}_cpu_ms"].append((time.process_time() - cpu) * 1_000)
            found[f"{name}_wall_ms"].append((time.perf_counter() - wall) * 1_000)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
