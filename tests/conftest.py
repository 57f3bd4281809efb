"""Fixtures and settings that every room of the tests shares."""

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from pinch_server.loading import loading
from tests.services.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

# Where the environment forbids bytecode, each of the hundreds of processes that tests start would compile the
# whole server again, and each worker of pytest-xdist all of the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test is timed: a slow machine must not fail one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Looks for no garbage in what is collected: thousands of tests and all they need stay to the end."""
    with loading():
        collected = yield
    gc.freeze()
    return collected


_TESTS: Final = Path(__file__).parent
_LONGEST: Final = (
    "bench",
    "clients",
    "workers",
    "web",
    "cli",
    "observe",
    "rpc",
    "gateways",
    "readme",
    "formats",
)
"""The rooms with the longest files, whose tests start processes or read the whole corpus."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest rooms first: pytest-xdist gives out files in order, and its workers end together."""

    def place(item: pytest.Item) -> int:
        room = item.path.relative_to(_TESTS).parts[0]
        return _LONGEST.index(room) if room in _LONGEST else len(_LONGEST)

    items.sort(key=place)
