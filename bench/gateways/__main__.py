"""`python -m bench.gateways`: the time Pinch adds to a request, by its size, as tables in Markdown."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.conversations import generate_bytes
from bench.gateways.litellm_proxy import KEY, MODEL, litellm
from bench.gateways.mouths import ENDPOINTS
from bench.gateways.way import ROOT, envoy, program, provider
from bench.running_server import RunningServer, running_server

_SIZES: Final = {10_000: 40, 100_000: 30, 1_000_000: 10}
"""Sizes of a session (tokens), and how often each is sent each way."""
_CONFIG: Final = """
[gateways]
mouths = ["compact", "portkey", "headroom", "litellm", "prune"]
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
            answer = connection.getresponse()
            if (text := answer.read()) and answer.status != http.HTTPStatus.OK:
                raise RuntimeError(f"{address}{path} answered {answer.status}: {text[:200]!r}")
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


def _row(body: bytes, cells: list[float]) -> None:
    said = " | ".join(f"{milliseconds:.1f} ms" for milliseconds in cells)
    print(f"| {len(body) / 1000:,.0f} kB | {said} |", flush=True)


def _through_envoy(sizes: Mapping[int, int], at: Path, pinch: RunningServer, behind: int) -> None:
    print("| body | straight | Envoy alone | with Pinch, new | sent again |")
    print("|---|---|---|---|---|")
    with envoy(at, pinch.grpc, behind) as through:
        for tokens, count in sizes.items():
            body = generate_bytes(1, tokens=tokens, images=False)
            chat, by_envoy = "/v1/chat/completions", f"127.0.0.1:{through}"
            fresh = _told_apart(body, count, "envoy")
            row = [
                _milliseconds(f"127.0.0.1:{behind}", chat, fresh, {}),
                _milliseconds(by_envoy, chat, fresh, {"x-pinch-bypass": "true"}),
                _milliseconds(by_envoy, chat, fresh, {}),
                _milliseconds(by_envoy, chat, [fresh[-1]] * count, {}),
            ]
            _row(fresh[0], row)


def _by_endpoints(sizes: Mapping[int, int], pinch: RunningServer) -> None:
    print(f"| body | {' | '.join(f'`{path}`' for path in ENDPOINTS)} |")
    print(f"|---{'|---' * len(ENDPOINTS)}|")
    for tokens, count in sizes.items():
        body = generate_bytes(1, tokens=tokens, images=False)
        row = []
        for path, asked in ENDPOINTS.items():
            bodies = [asked(one) for one in _told_apart(body, count, path)]
            row.append(_milliseconds(pinch.mouths, path, bodies, {}))
        _row(body, row)


def _in_go(sizes: Mapping[int, int], at: Path, pinch: RunningServer, go: str) -> None:
    module, driver = ROOT / "clients" / "go", at / "latency"
    subprocess.run([go, "build", "-o", driver, "./internal/latency"], cwd=module, check=True)
    print("| body | Bifrost's hook, new | llm-d's step, new |")
    print("|---|---|---|")
    for tokens, count in sizes.items():
        body = generate_bytes(1, tokens=tokens, images=False)
        asked = {
            "address": pinch.grpc,
            **{
                name: [json.loads(one) for one in _told_apart(body, count, name)]
                for name in ("bifrost", "llmd")
            },
        }
        ran = subprocess.run([driver], input=json.dumps(asked).encode(), capture_output=True, check=True)
        said = json.loads(ran.stdout)
        if said["shortened"] not in (0, 2 * count):
            raise RuntimeError(f"only {said['shortened']} of {2 * count} bodies were shortened")
        _row(body, [said["bifrost_ms"], said["llmd_ms"]])


def _in_python(sizes: Mapping[int, int], at: Path, pinch: RunningServer, behind: int) -> None:
    print("| body | LiteLLM alone | with Pinch, new | sent again | LangChain's middleware, new |")
    print("|---|---|---|---|---|")
    with litellm(at, pinch.grpc, behind) as through:
        for tokens, count in sizes.items():
            body = json.dumps(
                {**json.loads(generate_bytes(1, tokens=tokens, images=False)), "model": MODEL}
            ).encode()
            chat, by_litellm = "/v1/chat/completions", f"127.0.0.1:{through}"
            own = {"Authorization": f"Bearer {KEY}"}
            fresh, others = _told_apart(body, count, "litellm"), _told_apart(body, count, "langchain")
            row = [
                _milliseconds(by_litellm, chat, fresh, {**own, "x-pinch-bypass": "true"}),
                _milliseconds(by_litellm, chat, fresh, own),
                _milliseconds(by_litellm, chat, [fresh[-1]] * count, own),
                _by_langchain(pinch.grpc, others),
            ]
            _row(fresh[0], row)


def _by_langchain(address: str, bodies: list[bytes]) -> float:
    """The median over bodies that the middleware has before a model that answers at once (milliseconds)."""
    ran = subprocess.run(
        [program("python"), ROOT / "bench" / "gateways" / "langchain_agent.py"],
        input=json.dumps({"address": address, "bodies": [json.loads(body) for body in bodies]}).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python")},
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr.decode(errors="replace"))
    said = json.loads(ran.stdout)
    if said["shortened"] not in (0, len(bodies)):
        raise RuntimeError(f"only {said['shortened']} of {len(bodies)} bodies were shortened")
    milliseconds: float = said["milliseconds"]
    return milliseconds


def main(sizes: Mapping[int, int] = _SIZES) -> None:
    """Measures every way and prints the tables; the one of the steps in Go only where Go is.

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
        ):
            _through_envoy(sizes, at, pinch, behind)
            print()
            _in_python(sizes, at, pinch, behind)
            print()
            _by_endpoints(sizes, pinch)
            if go := shutil.which("go"):
                print()
                _in_go(sizes, at, pinch, go)


if __name__ == "__main__":
    main()
