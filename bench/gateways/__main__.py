"""`python -m bench.gateways`: the time Pinch adds to a request, by its size, as a table in Markdown."""

from __future__ import annotations

import http.client
import json
import statistics
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.conversations import generate_bytes
from bench.gateways.way import envoy, provider
from bench.running_server import running_server

_SIZES: Final = {10_000: 40, 100_000: 30, 1_000_000: 10}
"""Sizes of a session (tokens), and how often each is sent each way."""
_CONFIG: Final = """
[gateways]
mouths = ["compact"]
listen = "127.0.0.1:0"
mouth_seconds = 60
envoy_seconds = 60
"""


def _milliseconds(address: str, path: str, bodies: list[bytes], headers: Mapping[str, str]) -> float:
    """The median over bodies, each sent once on one connection (milliseconds)."""
    times = []
    with closing(http.client.HTTPConnection(address, timeout=120)) as connection:
        for body in bodies:
            started = time.perf_counter()
            connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
            connection.getresponse().read()
            times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def _told_apart(body: bytes, count: int, first: str) -> list[bytes]:
    """The same session as often, each time with another beginning, so that none is known from before."""
    whole = json.loads(body)
    bodies = []
    for number in range(count):
        opening = {"role": "user", "content": f"{first} {number}"}
        bodies.append(json.dumps({**whole, "messages": [opening, *whole["messages"]]}).encode())
    return bodies


def main(sizes: Mapping[int, int] = _SIZES) -> None:
    """Measures every way and prints the table.

    Args:
        sizes: Sizes of a session (tokens), and how often each is sent each way.
    """
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "pinch.toml").write_text(_CONFIG)
        (at / "state").mkdir()
        with (
            provider() as behind,
            running_server(at / "state", "--config", str(at / "pinch.toml")) as pinch,
            envoy(at, pinch.grpc, behind) as through,
        ):
            print("| body | straight | Envoy alone | with Pinch, new | sent again | /compact, new |")
            print("|---|---|---|---|---|---|")
            for tokens, count in sizes.items():
                body = generate_bytes(1, tokens=tokens, images=False)
                chat, by_envoy = "/v1/chat/completions", f"127.0.0.1:{through}"
                fresh, others = _told_apart(body, count, "envoy"), _told_apart(body, count, "compact")
                row = [
                    _milliseconds(f"127.0.0.1:{behind}", chat, fresh, {}),
                    _milliseconds(by_envoy, chat, fresh, {"x-pinch-bypass": "true"}),
                    _milliseconds(by_envoy, chat, fresh, {}),
                    _milliseconds(by_envoy, chat, [fresh[-1]] * count, {}),
                    _milliseconds(pinch.mouths, "/compact", others, {}),
                ]
                cells = " | ".join(f"{milliseconds:.1f} ms" for milliseconds in row)
                print(f"| {len(fresh[0]) / 1000:,.0f} kB | {cells} |", flush=True)


if __name__ == "__main__":
    main()
