"""The judges need the providers' own packages; `make judges` installs them and runs these tests."""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec

import pytest

# Read when litellm is imported: its price table comes from the package, not from the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

NEEDED = ("anthropic", "botocore", "google.genai", "litellm", "mistral_common", "openai")


def is_here(name: str) -> bool:
    """Whether a package can be imported, without importing it."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


collect_ignore = [] if all(map(is_here, NEEDED)) else ["test_judges.py", "test_translation.py"]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that calls home fails its test."""

    def refuse(*_: object) -> None:
        raise OSError("a judge tried to reach the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
