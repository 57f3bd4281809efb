"""Where the servers are and how to reach them: addresses, TLS, token, channel options (C4, C5, C7, C10)."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Any, Final

import grpc

from pinch.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MESSAGE_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""Largest request and largest reply, in bytes."""

DEFAULT_TIMEOUT_SECONDS: Final = 2.0
"""Time for a whole call, its retry included, in seconds."""

_CLIENT: Final = "pinch-client"
_AUTHORIZATION: Final = "authorization"
# A peer may refuse the whole call for one of these.
_OF_HTTP1: Final = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
_NAME: Final = re.compile(r"[a-z0-9._-]+")

_OPTIONS: Final[tuple[tuple[str, Any], ...]] = (
    ("grpc.max_send_message_length", MESSAGE_LIMIT_BYTES),
    ("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES),
    # A peer that vanished is found out between calls, not by the next call's deadline.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # gRPC's own bound is two minutes: too long to run unpruned after a server has come back.
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # And its first pause is a second, which a killed worker's last reset would cost each of its callers.
    ("grpc.initial_reconnect_backoff_ms", 100),
    # Also for one address, which may be a name with several records.
    ("grpc.service_config", json.dumps({"loadBalancingConfig": [{"round_robin": {}}]})),
    ("grpc.primary_user_agent", f"pinch-python/{VERSION}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How to speak TLS; without arguments, with the system's trusted roots.

    Attributes:
        root_certificates: Trusted roots in PEM, or None for gRPC's own.
        private_key: The client's key in PEM, for mutual TLS.
        certificate_chain: The client's certificate in PEM, for mutual TLS.
        server_name: Name to expect in the server's certificate, needed when addresses are plain IPs.
    """

    root_certificates: bytes | None = None
    private_key: bytes | None = field(default=None, repr=False)
    certificate_chain: bytes | None = None
    server_name: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError when only one half of the client's identity is given."""
        if (self.private_key is None) != (self.certificate_chain is None):
            raise ValueError("mutual TLS needs both private_key and certificate_chain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Everything that opening a channel takes, checked once."""

    target: str
    tls: Tls | None
    metadata: tuple[tuple[str, str], ...] = field(repr=False)

    def options(self) -> list[tuple[str, Any]]:
        """Channel options by name."""
        if self.tls is None or self.tls.server_name is None:
            return list(_OPTIONS)
        return [
            *_OPTIONS,
            ("grpc.ssl_target_name_override", self.tls.server_name),
            ("grpc.default_authority", self.tls.server_name),
        ]

    def credentials(self) -> grpc.ChannelCredentials | None:
        """Channel credentials, or None for plain text."""
        if self.tls is None:
            return None
        return grpc.ssl_channel_credentials(
            self.tls.root_certificates, self.tls.private_key, self.tls.certificate_chain
        )


def connection(
    addresses: str | Sequence[str],
    *,
    timeout: float,
    token: str | None,
    tls: Tls | None,
    metadata: Mapping[str, str] | None = None,
) -> Connection:
    """Checks a client's arguments.

    Raises:
        ValueError: There is no address, the addresses cannot share a channel, the timeout is not above zero
            or has no end, the token is not printable ASCII, or metadata cannot be sent or are the client's.
    """
    if not 0 < timeout < math.inf:
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout}")
    sent = [(_CLIENT, f"python/{VERSION}")]
    if token is not None:
        if not token or not _is_printable(token):
            raise ValueError("token must be printable ASCII and not empty")
        sent.append((_AUTHORIZATION, f"Bearer {token}"))
    for name, value in (metadata or {}).items():
        if not _NAME.fullmatch(name) or name.endswith("-bin") or not _is_printable(value):
            raise ValueError(f"metadata {name!r}: a name has a-z 0-9 - _ . and a value printable ASCII")
        if name in _OF_HTTP1:
            raise ValueError(f"metadata {name!r} is a header that HTTP/2 does not have")
        if name in {_CLIENT, _AUTHORIZATION} or name.startswith("grpc-"):
            raise ValueError(
                f"metadata {name!r} is set by the client itself; a token has an argument of its own"
            )
        sent.append((name, value))
    return Connection(target=target_of(addresses), tls=tls, metadata=tuple(sent))


def _is_printable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def target_of(addresses: str | Sequence[str]) -> str:
    """The gRPC target for one address or several.

    Args:
        addresses: One or more `host:port`, `unix:/path` or any other gRPC target; a text may hold several,
            separated by commas.

    Raises:
        ValueError: None is given, one is a URL or has no port, or several are not all IPv4 or all IPv6: gRPC
            cannot join those.
    """
    if isinstance(addresses, str):
        scheme, separator, _ = addresses.partition(":")
        whole = separator and scheme in {"ipv4", "ipv6"}
        given = [addresses] if whole else addresses.split(",")
    else:
        given = list(addresses)
    given = [address.strip() for address in given]
    if not given or not all(given):
        raise ValueError("at least one address is needed, and none may be empty")
    if len(given) == 1:
        return _reachable(given[0])
    for scheme, kind in (("ipv4", IPv4Address), ("ipv6", IPv6Address)):
        if all(_is_literal(address, kind) for address in given):
            return f"{scheme}:{','.join(given)}"
    raise ValueError(
        "several addresses must all be IPv4:port or all [IPv6]:port; "
        f"for several hosts use one DNS name with a record for each, not {', '.join(given)}"
    )


def _reachable(address: str) -> str:
    """Refuses what gRPC would take for a name to look up, or for port 443, and never reach."""
    if address.startswith(("http://", "https://")):
        raise ValueError(f"address {address!r} is a URL: give host:port, and tls for TLS")
    if ":" not in address or address.endswith("]"):
        raise ValueError(f"address {address!r} has no port: give host:port")
    return address


def _is_literal(address: str, kind: type[IPv4Address | IPv6Address]) -> bool:
    host, separator, port = address.rpartition(":")
    if kind is IPv6Address:
        if not (host.startswith("[") and host.endswith("]")):
            return False
        host = host[1:-1]
    try:
        kind(host)
    except AddressValueError:
        return False
    return bool(separator) and port.isdecimal()
