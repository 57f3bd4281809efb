"""Who may come in, as the settings say it, with the files that say so read."""

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pinch_server.app.start import StartError
from pinch_server.doors.certificates import (
    Certificate,
    read_certificate,
    server_context,
    watched_certificate,
)
from pinch_server.doors.tokens import Tokens, watched_tokens
from pinch_server.doors.watched import DoorFileError, Watched
from pinch_server.listen import parse_listen
from pinch_server.observe.metrics import Metrics
from pinch_server.settings import Settings

_LOG: Final = logging.getLogger(__name__)
_CALLS_PER_THREAD: Final = 8


@dataclass(frozen=True, slots=True)
class GrpcDoor:
    """What guards the gRPC port of one process.

    Attributes:
        certificate: What it shows its clients; None: plain text.
        tokens: The tokens that are valid; None: callers need none.
    """

    certificate: Watched[Certificate] | None
    tokens: Watched[Tokens] | None


@dataclass(frozen=True, slots=True)
class HttpDoor:
    """What guards the HTTP port.

    Attributes:
        tls: The newest TLS context; None: plain text.
        tokens: The tokens that are valid; None: readers need none.
    """

    tls: Watched[ssl.SSLContext] | None
    tokens: Watched[Tokens] | None


def grpc_door(settings: Settings, metrics: Metrics, clock: Callable[[], float]) -> GrpcDoor:
    """Reads the files that guard the gRPC port.

    Raises:
        StartError: One cannot be used.
    """
    tls = settings.server.tls
    try:
        certificate = None
        if tls.cert is not None and tls.key is not None and not parse_listen(settings.server.listen).path:
            certificate = watched_certificate(
                tls.cert, tls.key, tls.client_ca, clock, lambda read: _note_end(metrics, read)
            )
            certificate.tell(metrics.door_files_changed)
        return GrpcDoor(certificate, _tokens(settings, metrics, clock))
    except DoorFileError as error:
        raise StartError(str(error)) from error


def http_door(settings: Settings, metrics: Metrics, clock: Callable[[], float]) -> HttpDoor:
    """Reads the files that guard the HTTP port.

    Raises:
        StartError: One cannot be used.
    """
    tls = settings.server.tls
    try:
        context = None
        if tls.http and tls.cert is not None and tls.key is not None:
            context = _watched_context(tls.cert, tls.key, clock, metrics)
            context.tell(metrics.door_files_changed)
        return HttpDoor(context, _tokens(settings, metrics, clock))
    except DoorFileError as error:
        raise StartError(str(error)) from error


def most_calls(settings: Settings) -> int:
    """How many calls one process has at once, waiting ones included, before it sheds."""
    return settings.server.max_calls or _CALLS_PER_THREAD * settings.server.threads


def warn_of_open_doors(settings: Settings) -> None:
    """Logs that anyone on the network may call everything, when that is so."""
    server = settings.server
    is_open = not parse_listen(server.listen).is_local
    if is_open and server.tokens is None and server.tls.client_ca is None:
        _LOG.warning(
            "whoever reaches %s may call every method, AdminService too:"
            " server.tokens or server.tls.client_ca would ask callers who they are",
            server.listen,
        )
    gateways = settings.gateways
    if gateways.mouths and server.tokens is None and not parse_listen(gateways.listen).is_local:
        _LOG.warning(
            "whoever reaches %s may have conversations pruned: it never asks for a client's certificate,"
            " server.tokens would ask callers who they are",
            gateways.listen,
        )
    if is_open and server.tokens is not None and server.tls.cert is None:
        _LOG.warning("tokens cross the network to %s in plain text (server.insecure)", server.listen)


def _tokens(settings: Settings, metrics: Metrics, clock: Callable[[], float]) -> Watched[Tokens] | None:
    path = settings.server.tokens
    if path is None:
        return None
    tokens = watched_tokens(path, clock)
    tokens.tell(metrics.door_files_changed)
    return tokens


def _note_end(metrics: Metrics, certificate: Certificate) -> None:
    metrics.certificate_expires(certificate.expires.timestamp())


def _watched_context(
    chain: Path, key: Path, clock: Callable[[], float], metrics: Metrics
) -> Watched[ssl.SSLContext]:
    def read() -> ssl.SSLContext:
        _note_end(metrics, read_certificate(chain, key))
        return server_context(chain, key)

    return Watched("certificate", [chain, key], read, clock)
