"""A server that answers every Prune with the same bytes: ``python -m bench.clients.canned REPLY_FILE``."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

_UNBOUNDED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def main() -> None:
    """Prints its address and serves until it is ended."""
    reply = Path(sys.argv[1]).read_bytes()

    def prune(_request: bytes, _context: Any) -> bytes:
        return reply

    handler = grpc.unary_unary_rpc_method_handler(prune)
    server = grpc.server(ThreadPoolExecutor(4), options=_UNBOUNDED)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("pinch.v1.PruneService", {"Prune": handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"127.0.0.1:{port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
