"""One sandbox for the tests of a file."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from pinch_server.extract.sandbox import Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with closing(Sandbox()) as started:
        started.start()
        yield started
