"""``python -m bench.latency.echo``: a gRPC server that sends every message back, with nothing of Pinch in it.

It is the floor: whatever a service over gRPC does, it cannot answer sooner than this.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import grpc

METHOD: Final = "/bench.Echo/Echo"
_THREADS: Final = 16


def main() -> None:
    """Serves until it is killed; prints its address as JSON first."""
    server = grpc.server(
        ThreadPoolExecutor(_THREADS),
        options=(("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)),
    )
    handler = grpc.unary_unary_rpc_method_handler(lambda message, _: message)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", {"Echo": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(json.dumps({"grpc": f"127.0.0.1:{port}"}), flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
