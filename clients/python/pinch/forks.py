"""What gRPC does not survive: a fork while a channel of its asyncio is open.

The thread that serves all those channels is not copied, and gRPC then skips what else makes a fork safe. In
such a child a call may hang for ever, whatever its deadline, or end the process. So none is made there (C1).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

import grpc

from pinch.errors import CallError

if TYPE_CHECKING:
    import grpc.aio

_open: Final[WeakSet[grpc.aio.Channel]] = WeakSet()
_inherited: Final[list[grpc.aio.Channel]] = []


def opened(channel: grpc.aio.Channel) -> None:
    """Remembers an asyncio channel until it is closed or forgotten."""
    _open.add(channel)


def closed(channel: grpc.aio.Channel) -> None:
    """Forgets a channel: a fork does it no harm any more."""
    _open.discard(channel)


def is_spoiled() -> bool:
    """Whether this process was forked while a channel was open, so that gRPC is to be left alone."""
    return bool(_inherited)


def refuse() -> None:
    """Ends a call that must not be made.

    Raises:
        CallError: The process is spoiled.
    """
    if is_spoiled():
        raise CallError(
            grpc.StatusCode.INTERNAL,
            "the process was forked while an asyncio channel was open, which gRPC does not survive:"
            " fork first, or close the client before",
        )


def _in_the_child() -> None:
    # Kept, since what is freed is closed, and that waits for the thread which only the parent has.
    _inherited.extend(_open)


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_in_the_child)
