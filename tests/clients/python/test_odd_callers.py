"""What a caller's program does to a client: odd bodies and times, event loops that end, forks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from pinch import AsyncPinchClient, Outcome, PinchClient, RequestError
from tests.cli.commands import ROOT
from tests.clients.python.scripted import ScriptedServer, reported, within_budget

Run = Callable[..., Any]
BODY = b'{"messages": []}'
SECONDS = 60

FORKING = """
import asyncio, os, sys
from pinch import AsyncPinchClient, PinchClient

body = b'{"messages": []}'
address, leaves_open = sys.argv[1], sys.argv[2] == "open"
asynchronous, synchronous = AsyncPinchClient(address, timeout=30), PinchClient(address, timeout=30)

async def call(client):
    return await client.prune_openai(body)

async def call_and_close(client):
    async with client:
        return await call(client)

assert asyncio.run((call if leaves_open else call_and_close)(asynchronous)).error is None
assert synchronous.prune_openai(body).error is None
child = os.fork()
if child == 0:
    another = AsyncPinchClient(address, timeout=30)
    results = [synchronous.prune_openai(body), asyncio.run(call_and_close(another))]
    if leaves_open:
        results.append(asyncio.run(call_and_close(asynchronous)))
        synchronous.close()
    print(*{result.reason for result in results}, all(result.body is body for result in results), flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert synchronous.prune_openai(body).error is None
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize(
    "body",
    [BODY.decode(), bytearray(BODY), memoryview(BODY), [1], None, 5],
    ids=lambda body: type(body).__name__,
)
def test_a_body_of_another_type_is_not_sent(body: Any, server: ScriptedServer, run: Run) -> None:
    """C1, C9: what is neither bytes nor a dict comes back as it came, and the error names its type."""
    result = run(server.address, lambda client: client.prune_openai(body))
    assert result.body is body
    assert result.reason == "invalid_request"
    assert type(body).__name__ in str(result.error)
    assert not server.calls


@pytest.mark.parametrize("timeout", [1e8, 1e12, 1e300])
def test_a_time_of_any_length_is_time_enough(timeout: float, server: ScriptedServer, run: Run) -> None:
    """C2: a timeout that gRPC's clock cannot hold is a long one, and not none at all."""
    server.answer(within_budget)
    assert run(server.address, lambda client: client.prune_openai(BODY, timeout=timeout)).error is None


@pytest.mark.parametrize("told", [("id", "model \ud800"), ("id \ud800", "model")], ids=["model", "decision"])
def test_a_report_that_has_no_utf8_is_false(told: tuple[str, str], server: ScriptedServer, run: Run) -> None:
    """C1: half a surrogate pair, as JSON may name a model, is a failed report and no exception."""

    def report(client: Any) -> Any:
        return client.report_outcome(told[0], Outcome.OUTCOME_DISPATCHED, selected_model=told[1])

    server.answer(reported)
    assert run(server.address, report) is False
    with pytest.raises(RequestError):
        run(server.address, report, strict=True)
    assert not server.calls


def test_a_client_outlives_its_event_loop(server: ScriptedServer) -> None:
    """C5: a client that is used in one event loop after another opens a channel in each."""
    server.answer(within_budget)
    client = AsyncPinchClient(server.address, timeout=30)

    async def call() -> Any:
        return await client.prune_openai(BODY)

    assert [asyncio.run(call()).error for _ in range(3)] == [None, None, None]
    asyncio.run(client.close())
    assert asyncio.run(call()).reason == "cancelled"


def test_a_client_serves_event_loops_at_once(server: ScriptedServer) -> None:
    """C5: event loops that run at once, each in its thread, may share a client."""
    server.answer(within_budget)
    client = AsyncPinchClient(server.address, timeout=30)
    results = []

    async def calls() -> None:
        results.extend([await client.prune_openai(BODY) for _ in range(20)])

    threads = [Thread(target=asyncio.run, args=(calls(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.error for result in results] == [None] * 80
    asyncio.run(client.close())


def test_closing_twice_is_harmless(server: ScriptedServer) -> None:
    """C5: a client may be closed again, before its first call too."""

    async def close_twice(client: AsyncPinchClient) -> None:
        await client.close()
        await client.close()

    for _ in range(2):
        asyncio.run(close_twice(AsyncPinchClient(server.address)))
        client = PinchClient(server.address)
        client.close()
        client.close()
        assert client.prune_openai(BODY).reason == "cancelled"


@pytest.mark.parametrize(("left", "reason"), [("open", "internal"), ("closed", "within_budget")])
def test_a_forked_process_neither_hangs_nor_ends(left: str, reason: str, server: ScriptedServer) -> None:
    """C1: forked while an asyncio channel is open, a process fails open; after its close, it calls."""
    server.answer(within_budget)
    done = subprocess.run(
        [sys.executable, "-c", FORKING, server.address, left],
        env={"PYTHONPATH": str(ROOT / "clients" / "python")},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{reason} True\n"), done.stderr
