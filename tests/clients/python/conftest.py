"""Every rule of a call is held for both clients: `run` makes the same call with either."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pinch import AsyncPinchClient, PinchClient
from tests.clients.python.scripted import ScriptedServer
from tests.services.testing_server import serving_tests

Run = Callable[..., Any]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a real `pinch serve --testing` takes calls."""
    with serving_tests(tmp_path_factory.mktemp("home")) as at:
        yield at["grpc"]


def run_sync(addresses: Any, use: Callable[[Any], Any], **settings: Any) -> Any:
    with PinchClient(addresses, **settings) as client:
        return use(client)


def run_async(addresses: Any, use: Callable[[Any], Any], **settings: Any) -> Any:
    async def main() -> Any:
        async with AsyncPinchClient(addresses, **settings) as client:
            return await use(client)

    return asyncio.run(main())


@pytest.fixture(params=[run_sync, run_async], ids=["sync", "asyncio"])
def run(request: pytest.FixtureRequest) -> Run:
    return request.param
