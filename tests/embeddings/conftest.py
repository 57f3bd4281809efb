"""A server to ask, and an embedder that asks it."""

from collections.abc import Iterator

import pytest

from pinch_server.embeddings.http import Endpoint, HttpEmbedder
from pinch_server.embeddings.static import StaticEmbedder
from tests.services.embedding_faults import FaultServer


@pytest.fixture(scope="session")
def static() -> StaticEmbedder:
    return StaticEmbedder()


@pytest.fixture
def server() -> Iterator[FaultServer]:
    running = FaultServer()
    yield running
    running.close()


@pytest.fixture
def embedder(server: FaultServer) -> Iterator[HttpEmbedder]:
    asking = HttpEmbedder(Endpoint(server.base_url, "any-model"), api_key="sk-secret-of-the-tests")
    yield asking
    asking.close()
