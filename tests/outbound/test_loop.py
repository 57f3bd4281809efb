"""The loop of outbound requests: what runs on it, and what no longer does."""

import threading
from concurrent.futures import CancelledError

import pytest

from pinch_server.outbound.loop import LoopThread

_NAME = "pinch-test-loop"


async def answer() -> str:
    return "here"


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == _NAME]


def test_what_comes_after_the_end_is_cancelled_and_begins_nothing() -> None:
    """Closed before or after its first coroutine, it runs no other and leaves no thread behind."""
    for is_used in (True, False):
        loop = LoopThread(_NAME)
        if is_used:
            assert loop.run(answer(), seconds=10) == "here"
            assert threads() == [_NAME]
        loop.close()
        with pytest.raises(CancelledError):
            loop.run(answer(), seconds=10)
        loop.close()
        assert threads() == []
