"""A session's calls may go anywhere: each worker, each run and a fresh replica give the same bytes."""

import json
from pathlib import Path

import pytest

from bench.conversations import generate
from bench.running_server import running_server
from pinch import Limits, PinchClient

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="several workers need it")

LIMITS = Limits(budget_tokens=8_000)


def calls() -> list[bytes]:
    """The bodies of a session's calls, each with one more answer and its results."""
    whole = generate(3, tokens=40_000, format="openai-chat", images=False)
    messages = whole["messages"]
    ends = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    return [
        json.dumps({**whole, "messages": messages[:end]}).encode() for end in [*ends[1::3], len(messages)]
    ]


def pruned(address: str, bodies: list[bytes]) -> list[bytes]:
    with PinchClient(address, strict=True, timeout=60) as client:
        return [client.prune_openai(body, limits=LIMITS).body for body in bodies]


def test_two_workers_two_runs_and_a_restart(tmp_path: Path) -> None:
    """Calls that alternate between workers ship what one that saw all ships, and one that saw none."""
    session = calls()
    for name in ("two", "other"):
        (tmp_path / name).mkdir()
    with running_server(tmp_path / "two", "--workers", "2") as running:
        first, second = running.workers
        turns = [pruned((first, second)[index % 2], [body])[0] for index, body in enumerate(session)]
        one = pruned(first, session)
        assert running.stop() == 0
    assert any(len(ours) < len(theirs) for ours, theirs in zip(turns, session, strict=True))
    assert turns == one
    with running_server(tmp_path / "two", "--workers", "1") as restarted:
        assert pruned(restarted.grpc, session[-1:]) == turns[-1:]
        assert restarted.stop() == 0
    with running_server(tmp_path / "other", "--workers", "1") as replica:
        assert pruned(replica.grpc, session[::-1]) == turns[::-1]
        assert replica.stop() == 0
