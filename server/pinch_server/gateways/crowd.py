"""Keeps the connections of one listener to a number, so that those who never ask take no descriptor away.

Descriptors are the process's: without one left, no gRPC caller is let in and no database is opened.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar


class Connection(Hashable, Protocol):
    """A connection that can be ended."""

    def force_close(self) -> None:
        """Ends it."""
        ...


_Connection = TypeVar("_Connection", bound=Connection)


class Crowd:
    """The connections of one listener; for the thread of its event loop alone.

    Args:
        most: How many there may be before those end on which nothing is asked, the oldest first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._asking: Counter[Hashable] = Counter()

    @contextmanager
    def asking(self, connection: Hashable) -> Iterator[None]:
        """Spares a connection while it is answered."""
        self._asking[connection] += 1
        try:
            yield
        finally:
            self._asking[connection] -= 1
            if not self._asking[connection]:
                del self._asking[connection]

    def thin(self, connections: Sequence[_Connection]) -> None:
        """Ends as many as are too many, if so many ask nothing.

        Args:
            connections: All there are, the oldest first.
        """
        excess = len(connections) - self._most
        silent = [connection for connection in connections if connection not in self._asking]
        for connection in silent[: max(0, excess)]:
            connection.force_close()
