"""A machine without settings for every test of the command line."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Takes away PINCH_ variables, and puts the state directory where the test ends with it."""
    for name in list(os.environ):
        if name.upper().startswith("PINCH_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
