"""A model's endpoint to ask."""

from collections.abc import Iterator

import pytest

from tests.services.model_server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    running = ModelServer()
    yield running
    running.close()
