"""`python -m example_router`: the router as a command."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from example_router.models import Model
from example_router.router import Router
from pinch import PinchClient

_MODELS = "small:32000,large:200000"


def main() -> None:
    """Runs the router until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m example_router", description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="port on this machine (default 8080)")
    parser.add_argument("--pinch", default="127.0.0.1:50051", help="address of the Pinch service")
    parser.add_argument("--upstream", required=True, help="base URL of an OpenAI-compatible service")
    parser.add_argument("--models", default=_MODELS, help=f"NAME:TOKENS, the cheapest first ({_MODELS})")
    given = parser.parse_args()
    named = [model.rpartition(":") for model in given.models.split(",")]
    models = [Model(name, int(tokens)) for name, _, tokens in named]
    with (
        PinchClient(given.pinch) as pinch,
        Router(("127.0.0.1", given.port), pinch, given.upstream, models) as router,
    ):
        sys.stderr.write(f"http://127.0.0.1:{router.server_port}/v1/chat/completions\n")
        with suppress(KeyboardInterrupt):
            router.serve_forever()


if __name__ == "__main__":
    main()
