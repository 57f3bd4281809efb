"""An event loop in a thread of its own, so that threads of a synchronous server can use asynchronous I/O."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

Result = TypeVar("Result")

WhenGone = Callable[[Callable[[], None]], bool]
"""Registers what to do when a call ends, and says False when it has ended already:
`ServicerContext.add_callback`."""


class LoopThread:
    """Runs coroutines for other threads, until it is closed. Starts with its first one, in any process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def run(
        self, work: Coroutine[Any, Any, Result], *, seconds: float, when_gone: WhenGone | None = None
    ) -> Result:
        """Runs a coroutine and waits for what it returns.

        Args:
            work: The coroutine.
            seconds: How long to wait (seconds).
            when_gone: Registers a callback for the end of the call that this is for.

        Raises:
            TimeoutError: The time ran out; the coroutine is cancelled.
            CancelledError: The call ended first, and the coroutine is cancelled; or this is closed.
        """
        with self._lock:
            if self._is_closed:
                # Whoever closes is leaving: a loop begun now would be left behind, with its connections.
                work.close()
                raise CancelledError
            future: Future[Result] = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            if when_gone is not None and not when_gone(lambda: _cancel(future)):
                raise CancelledError
            return future.result(max(seconds, 0.0))
        finally:
            future.cancel()

    def close(
        self, farewell: Callable[[], Coroutine[Any, Any, None]] | None = None, seconds: float = 2.0
    ) -> None:
        """Runs a last coroutine, if any, and ends the thread. Safe to call twice."""
        with self._lock:
            self._is_closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        if farewell is not None:
            future = asyncio.run_coroutine_threadsafe(farewell(), loop)
            try:
                future.result(seconds)
            except (TimeoutError, CancelledError):
                future.cancel()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(seconds)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name=self._name, daemon=True)
            self._thread.start()
        return self._loop


def _cancel(future: "Future[Any]") -> None:
    future.cancel()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
