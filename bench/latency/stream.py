"""``python -m bench.latency.stream ADDRESS TOKENS``: a client that calls without a pause.

A process of its own, as another client is: in the process of the caller that is timed, the time would hold
what that caller waits for its own interpreter while the other one encodes megabytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Final

from bench.latency.payloads import GrowingSession
from bench.latency.servers import ALLOCATOR, pinch_stub

_CALLS: Final = 4


def main(address: str, tokens: int) -> None:
    """Calls until it is killed; says so in a line once the first call is answered."""
    session = list(GrowingSession(tokens, _CALLS).calls("big", "body", "edits"))
    with pinch_stub(address) as prune:
        prune(session[0].request)
        print("streams", flush=True)
        for call in cycle(session):
            prune(call.request)


@contextmanager
def streaming(address: str, tokens: int = 1_000_000) -> Iterator[None]:
    """Has such a client call the service while the block runs.

    Args:
        address: Where the service is; those of its workers divided by commas.
        tokens: Size of each call (tokens).

    Raises:
        OSError: It ended, or could not call, before the block began or ended.
    """
    command = [sys.executable, "-m", "bench.latency.stream", address, str(tokens)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | ALLOCATOR) as process:
        try:
            if process.stdout is None or not process.stdout.readline():
                raise OSError("the stream of big calls did not begin")
            yield
            if process.poll() is not None:
                raise OSError("the stream of big calls ended before its time")
        finally:
            process.kill()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
