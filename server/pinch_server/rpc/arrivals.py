"""Waiting for the messages of calls, for so long and no longer.

gRPC gives a call a thread before its message is there, and lets it wait for ever.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

import grpc

from pinch_server.rpc.errors import NoMessageError, TooLateError

_LOOKS: Final = 4
"""How often within that time it is looked whether it is over."""


class Arrivals:
    """Owns a thread, started with the first message that is waited for and ended by `close`.

    Args:
        seconds: How long a message may take (seconds).
        clock: The monotonic clock (seconds).
        most: How many messages may be waited for at once; for one more, the one that is waited for longest
            is given up. None: as many as come.
    """

    def __init__(self, seconds: float, clock: Callable[[], float], most: int | None = None) -> None:
        self._seconds = seconds
        self._clock = clock
        self._most = most
        self._waiting: dict[grpc.ServicerContext, float] = {}
        self._late: set[grpc.ServicerContext] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def one(self, received: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """The message of a call that has one.

        Raises:
            TooLateError: It did not come in time; the call is ended.
            grpc.RpcError: The call has ended: the caller is gone, or its message is above the limit.
            NoMessageError: The caller sent none.
        """
        message = next(self.each(received, context), None)
        if message is None:
            raise NoMessageError
        return message

    def each(self, received: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """The messages of a call, as they come.

        Raises:
            TooLateError: One did not come in time; the call is ended.
            grpc.RpcError: The call has ended: the caller is gone, or its message is above the limit.
        """
        while True:
            crowded_out: grpc.ServicerContext | None = None
            with self._lock:
                if self._most is not None and len(self._waiting) >= self._most:
                    crowded_out = next(iter(self._waiting))
                    del self._waiting[crowded_out]
                    self._late.add(crowded_out)
                self._waiting[context] = self._clock() + self._seconds
                if self._thread is None:
                    self._thread = threading.Thread(target=self._look, name="pinch-arrivals", daemon=True)
                    self._thread.start()
            if crowded_out is not None:
                _end(crowded_out)
            try:
                message = next(received, None)
            except grpc.RpcError:
                # What gRPC raises here when the call has ended, by whomever; of its own it makes no fuss.
                if context not in self._late:
                    raise
                message = None
            finally:
                with self._lock:
                    self._waiting.pop(context, None)
                    was_late = context in self._late
                    self._late.discard(context)
            if was_late and message is None:
                raise TooLateError
            if message is None:
                return
            yield message

    def begun(self, received: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """The messages of a call, of which the first alone must come in time.

        Raises:
            TooLateError: It did not; the call is ended.
            grpc.RpcError: The call has ended: the caller is gone, or its message is above the limit.
        """
        yield from islice(self.each(received, context), 1)
        yield from received

    def close(self) -> None:
        """Ends the thread."""
        self._closing.set()

    def _look(self) -> None:
        while not self._closing.wait(self._seconds / _LOOKS):
            now = self._clock()
            with self._lock:
                late = [context for context, until in self._waiting.items() if until <= now]
                for context in late:
                    del self._waiting[context]
                self._late.update(late)
            for context in late:
                _end(context)


def _end(context: grpc.ServicerContext) -> None:
    # The call may have ended by itself just now.
    with suppress(Exception):
        context.cancel()  # type: ignore[no-untyped-call] # untyped in the stubs
