"""A real agent of LangChain's with Pinch in it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench.running_server import running_server
from tests.plugged.installed import ROOT, block, changed, gateway

PAGES = "127.0.0.1:50051"
CONFIG = "budget_tokens = 2000\nkeep_last_turns = 1\nkeep_last_rounds = 1\n"
AGENT = Path(__file__).with_name("langchain_agent.py")


def agent(address: str) -> Any:
    run = subprocess.run(
        [gateway("python"), str(AGENT), address, changed(block("# LangChain"), {PAGES: address})],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python")},
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


def test_the_model_is_shown_less_and_the_agent_keeps_all(tmp_path: Path) -> None:
    """Called and awaited alike, old results are short in what the model sees, and whole in the state."""
    (tmp_path / "pinch.toml").write_text(CONFIG)
    with running_server(tmp_path, "--config", str(tmp_path / "pinch.toml")) as pinch:
        ran = agent(pinch.grpc)
    for shown, kept in zip(ran["shown"], ran["kept"], strict=True):
        results = [text for kind, text, _ in shown if kind == "ToolMessage"]
        assert len(results) == 6
        assert len(results[0]) < 5_000 < len(results[-1])
        assert [call for kind, _, call in shown if kind == "ToolMessage"] == [f"call_{n}" for n in range(6)]
        assert [size for size in kept if size > 5_000] == [len("src/0.py: line\n") * 1_000] * 6


def test_without_a_server_the_model_is_shown_everything(tmp_path: Path) -> None:
    """With nobody at the address the agent runs to its end on its messages as they are."""
    with running_server(tmp_path) as pinch:
        address = pinch.grpc
    ran = agent(address)
    for shown in ran["shown"]:
        assert [len(text) for kind, text, _ in shown if kind == "ToolMessage"] == [15_000] * 6
