"""The LiteLLM proxy of docs/integrations.md, with Pinch's callback, before a provider."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.gateways.way import ROOT, await_answer, page_block, program

KEY: Final = "sk-litellm"
"""The bearer token that it takes."""
MODEL: Final = "gpt-4o"
"""The model that it passes on."""


@contextmanager
def litellm(at: Path, pinch: str, behind: int) -> Iterator[int]:
    """LiteLLM with the page's configuration and a patient time limit; its port.

    Args:
        at: A directory for its configuration and log.
        pinch: Address of the Pinch service.
        behind: Port of the provider.

    Raises:
        RuntimeError: It is not installed, or did not start.
    """
    command = program("litellm")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    text = page_block("yaml", "# litellm.yaml").replace("127.0.0.1:8000", f"127.0.0.1:{behind}")
    (at / "litellm.yaml").write_text(text)
    environment = {
        **os.environ,
        "PINCH_ADDRESS": pinch,
        "PINCH_TIMEOUT_SECONDS": "60",
        "PYTHONPATH": str(ROOT / "clients" / "python"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MASTER_KEY": KEY,
        "LITELLM_TELEMETRY": "False",
    }
    run = [command, "--config", str(at / "litellm.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    with (
        (at / "litellm.log").open("wb") as log,
        subprocess.Popen(run, stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            await_answer(f"http://127.0.0.1:{port}/health/liveliness", process)
            yield port
        finally:
            process.terminate()
