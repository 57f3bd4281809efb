"""A service for each test file that only asks it things."""

from collections.abc import Iterator

import pytest

from tests.rpc.service import Kept, Service, running


@pytest.fixture(scope="module")
def kept() -> Kept:
    """What the service recorded."""
    return Kept()


@pytest.fixture(scope="module")
def service(kept: Kept) -> Iterator[Service]:
    """A running service."""
    with running(recorder=kept) as started:
        yield started
