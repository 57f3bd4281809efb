"""Addresses a server listens on, as one setting spells them: `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

HOST_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
"""What a host may be called."""
_UNIX: Final = "unix:"
_LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Listen:
    """Where a server listens.

    Attributes:
        host: Host name or IP address, IPv6 without brackets; empty for a unix socket.
        port: TCP port; 0 takes a free one.
        path: File of the unix socket; empty for TCP.
    """

    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it: a unix socket or a loopback address."""
        if self.path or self.host.lower() == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        if self.path:
            return f"{_UNIX}{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_listen(text: str) -> Listen:
    """Reads one address.

    Raises:
        ValueError: The text is not an address; its message names what to give instead.
    """
    if text.startswith(_UNIX):
        path = text.removeprefix(_UNIX)
        if not path or "\0" in path:
            raise ValueError("names no socket file; give unix:PATH")
        return Listen(path=path)
    host, colon, port = text.rpartition(":")
    if not colon or not host:
        raise ValueError("is not HOST:PORT; give for example 127.0.0.1:50051")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= _LAST_PORT):
        raise ValueError(f"has no port from 0 to {_LAST_PORT} after the last colon; 0 takes a free one")
    return Listen(host=_host(host), port=int(port))


def _host(text: str) -> str:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else None
    try:
        address = ipaddress.ip_address(text if bare is None else bare)
    except ValueError:
        if bare is None and HOST_NAME.fullmatch(text):
            return text
        raise ValueError("has no valid host; give a name, an IPv4 address or [IPv6]") from None
    if (address.version == 6) != (bare is not None):
        raise ValueError("needs brackets around an IPv6 address and around nothing else, as in [::1]:50051")
    return str(address)
