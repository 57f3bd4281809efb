"""C5: one client and its one channel carry many calls at once."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

from pinch import AsyncPinchClient, Limits, PinchClient, Pruned

CALLS = 1_000
SECONDS = 300
SMALL = Limits(budget_tokens=1_000, target_tokens=1, keep_last_turns=1, min_tokens_saved=0, min_gain=0)


def body(number: int) -> bytes:
    """A conversation that is over its budget and tells its number at both ends."""
    said = [
        {"role": "user", "content": f"first {number}"},
        {"role": "assistant", "tool_calls": [_call(number)]},
        {"role": "tool", "tool_call_id": str(number), "content": f"{number} " * 1_500},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": "so it is"},
        {"role": "user", "content": f"last {number}"},
    ]
    return json.dumps({"messages": said}).encode()


def _call(number: int) -> dict[str, object]:
    return {"id": str(number), "type": "function", "function": {"name": "f", "arguments": "{}"}}


def check(number: int, given: bytes, result: Pruned[bytes]) -> None:
    assert result.error is None
    assert result.pruned
    before, after = (json.loads(text)["messages"] for text in (given, result.body))
    assert after[2].pop("content") != before[2].pop("content")
    assert after == before
    assert after[-1]["content"] == f"last {number}"


async def test_a_thousand_tasks(address: str) -> None:
    """A thousand tasks share a client, and each has its own conversation back."""
    bodies = [body(number) for number in range(CALLS)]
    async with AsyncPinchClient(address, timeout=SECONDS) as client:
        results = await asyncio.gather(*(client.prune_openai(given, limits=SMALL) for given in bodies))
    for number, (given, result) in enumerate(zip(bodies, results, strict=True)):
        check(number, given, result)


def test_a_thousand_threads(address: str) -> None:
    """A thousand threads share a client, and each has its own conversation back."""
    bodies = [body(number) for number in range(CALLS)]
    with PinchClient(address, timeout=SECONDS) as client, ThreadPoolExecutor(CALLS) as threads:
        results = list(threads.map(lambda given: client.prune_openai(given, limits=SMALL), bodies))
    for number, (given, result) in enumerate(zip(bodies, results, strict=True)):
        check(number, given, result)
