"""TCP ports that outlive the processes that listen on them.

A reserved port is bound and never listens: it takes no connection, yet keeps the number for this service
while a worker is being replaced, and lets its workers share it (SO_REUSEPORT).
"""

import errno
import socket
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pinch_server.listen import Listen

_ATTEMPTS: Final = 10
_NOT_HERE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class ReservedPort:
    """One port, on every address of its host.

    Args:
        wanted: A TCP address; port 0 takes a free one.

    Raises:
        OSError: Another process has the port, or the host is none of this machine's.
    """

    def __init__(self, wanted: Listen) -> None:
        self._sockets = _bind_all(wanted)
        port: int = self._sockets[0].getsockname()[1]
        self.listen: Final = replace(wanted, port=port)
        """The address, with the port that was taken for 0."""
        for one in self._sockets:
            # Only now: whoever bound before and shares, or binds later and does not, would go unnoticed.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)

    def close(self) -> None:
        """Gives the port up."""
        for one in self._sockets:
            one.close()


def _bind_all(wanted: Listen) -> list[socket.socket]:
    found = socket.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    places = list(dict.fromkeys((family, address[0]) for family, *_, address in found))
    for attempt in range(_ATTEMPTS):
        try:
            return _bind_each(places, wanted)
        except OSError as error:
            # A free port of the first address may be taken on the second.
            if wanted.port or error.errno != errno.EADDRINUSE or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt neither bound nor raised")


def _bind_each(
    places: Sequence[tuple[socket.AddressFamily, str | int]], wanted: Listen
) -> list[socket.socket]:
    bound: list[socket.socket] = []
    port = wanted.port
    missing: OSError | None = None
    try:
        for family, host in places:
            try:
                bound.append(_bind(family, host, port))
                port = bound[0].getsockname()[1]
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                missing = error
        if missing is not None and not bound:
            raise missing
    except OSError:
        for one in bound:
            one.close()
        raise
    return bound


def _bind(family: socket.AddressFamily, host: str | int, port: int) -> socket.socket:
    try:
        return _bound(family, host, port, reuse=False)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
    # Connections of the service that ended here a moment ago are no reason to refuse; a listener is.
    return _bound(family, host, port, reuse=True)


def _bound(family: socket.AddressFamily, host: str | int, port: int, *, reuse: bool) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(reuse))
        one.bind((host, port))
    except OSError:
        one.close()
        raise
    return one
