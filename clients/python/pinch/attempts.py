"""One deadline for a call and its single retry (C2, C3)."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import grpc

from pinch.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Callable


class Attempts:
    """The attempts of one call: at most two, both inside one deadline.

    Raises:
        ValueError: The timeout has no end, or is no number.
    """

    __slots__ = ("_clock", "_deadline", "_retried")

    def __init__(self, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        if not math.isfinite(timeout):
            raise ValueError(f"timeout must be a number of seconds, not {timeout}")
        self._clock = clock
        self._deadline = clock() + timeout
        self._retried = False

    def time_left(self) -> float:
        """Seconds until the deadline.

        Raises:
            CallError: None are left; gRPC itself would sometimes still send such a call.
        """
        left = self._deadline - self._clock()
        if left <= 0:
            raise CallError(grpc.StatusCode.DEADLINE_EXCEEDED, "no time left")
        return left

    def retry_or_raise(self, failure: CallError) -> None:
        """Returns when the call may be made once more.

        Only UNAVAILABLE is retried: by any other status the server says that trying again is of no use.

        Raises:
            CallError: It may not: the failure itself.
        """
        if self._retried or failure.code is not grpc.StatusCode.UNAVAILABLE:
            raise failure
        self._retried = True


def failure_of(error: grpc.RpcError) -> CallError:
    """The failure that a gRPC error stands for."""
    return CallError(error.code(), error.details() or "")
