"""`--server ADDRESS`: where a running service is."""

from typing import Final

import click

_LAST_PORT: Final = 65_535


def server_address(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Checks an address before gRPC does: that takes `localhost` for port 443, and any URL for a name.

    Raises:
        click.BadParameter: It is neither HOST:PORT nor unix:PATH.
    """
    if text is not None:
        # The client takes several, separated by commas.
        for one in text.split(","):
            problem = _problem(one.strip())
            if problem:
                raise click.BadParameter(
                    f"{one!r} {problem}; give HOST:PORT, such as 127.0.0.1:50051, or unix:PATH"
                )
    return text


def _problem(address: str) -> str | None:
    if address.startswith("unix:"):
        return None if address.removeprefix("unix:") else "names no socket file"
    if "://" in address:
        return "is a URL"
    host, colon, port = address.rpartition(":")
    if not colon or not host or (":" in host and not host.endswith("]")):
        return "has no port" if address else "is no address"
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _LAST_PORT):
        return f"has no port from 1 to {_LAST_PORT}"
    return None
