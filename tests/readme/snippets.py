"""The README's code, as whole programs: each reads a body from one file and forwards into another."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from bench.conversations import generate_bytes
from bench.running_server import running_server
from tests.cli.commands import run

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "127.0.0.1:50051"
GRPC_DEFAULT_BYTES = 4 * 1024 * 1024
"""What gRPC receives at most unless it is told otherwise."""

Program = Callable[[str, float], Sequence[str | Path]]
"""Makes the command of a program for an address and a deadline (seconds); both files follow."""

_UNREACHABLE = re.compile(
    r"dial tcp|no such host|i/o timeout|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH"
)


def snippet(language: str, *replaced: tuple[str, str]) -> str:
    """The README's only block in a language, with texts in it replaced that must each stand there once."""
    (code,) = re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
    text = str(code)
    for old, new in replaced:
        assert text.count(old) == 1, f"{old!r} does not stand once in the README's {language}"
        text = text.replace(old, new)
    return text


def made(command: Sequence[str | Path], folder: Path, variables: Mapping[str, str] | None = None) -> None:
    """Runs a step of a build; without a network, the test is skipped."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        told = f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}"
        if _UNREACHABLE.search(told):
            pytest.skip(f"what it needs cannot be fetched: {told.strip().splitlines()[-1]}")
        pytest.fail(told)


def forwarded(program: Program, address: str, deadline: float, body: bytes, folder: Path) -> bytes:
    """What a program forwards of a body."""
    given, out = folder / "given.json", folder / "out.json"
    given.write_bytes(body)
    out.unlink(missing_ok=True)
    paths = os.pathsep.join((str(ROOT / "server"), str(ROOT / "clients" / "python")))
    done = subprocess.run(
        [*program(address, deadline), given, out],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


def large_body() -> bytes:
    """A body that is over gRPC's default bound after it is pruned too: half of it is the user's text."""
    said: list[dict[str, object]] = [{"role": "user", "content": "read this: " + "word " * 900_000}]
    for number in range(24):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append(
            {"role": "tool", "tool_call_id": f"call_{number}", "content": f"line {number}\n" * 20_000}
        )
    return json.dumps({"model": "m", "messages": said}).encode()


def holds_its_promises(program: Program, folder: Path) -> None:
    """Tries a program against a service: what it forwards is what `pinch prune` gives, whatever its size."""
    (folder / "state").mkdir()
    with running_server(folder / "state") as server:
        for body in (generate_bytes(1, tokens=60_000), large_body()):
            smaller = forwarded(program, server.grpc, 60, body, folder)
            assert len(smaller) < len(body)
            assert smaller == _pruned(body, folder)
        assert len(smaller) > GRPC_DEFAULT_BYTES


def forwards_the_original(program: Program, folder: Path) -> None:
    """Tries a program where nobody answers: the service hangs, and then it is gone."""
    body = generate_bytes(1, tokens=60_000)
    (folder / "state").mkdir()
    with running_server(folder / "state") as server:
        server.process.send_signal(signal.SIGSTOP)
        try:
            assert forwarded(program, server.grpc, 2, body, folder) == body
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert server.stop() == 0
        assert forwarded(program, server.grpc, 2, body, folder) == body


def _pruned(body: bytes, home: Path) -> bytes:
    """The body as `pinch prune` writes it."""
    done = run("prune", home=home, stdin=body)
    assert done.returncode == 0, done.stderr
    return done.stdout
