"""A server's certificate and key, tried before they are used.

A pair is tried by a handshake in memory, in which a client trusts this one certificate: it fails when the key
does not fit, when today is not within the certificate's dates, or when it is not one for servers.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pinch_server.doors.watched import DoorFileError, Watched, read_secret

_END: Final = b"-----END CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a server shows its clients.

    Attributes:
        chain: The certificate and those that link it to a root, in PEM.
        key: Its private key, in PEM.
        client_roots: Whose client certificates are taken, in PEM; None: clients need none.
        names: The names and addresses it is for.
        expires: When it ends.
    """

    chain: bytes
    key: bytes = field(repr=False)
    client_roots: bytes | None
    names: tuple[str, ...]
    expires: datetime


def watched_certificate(
    chain: Path,
    key: Path,
    client_roots: Path | None,
    clock: Callable[[], float],
    taken: Callable[[Certificate], None] = lambda _: None,
) -> Watched[Certificate]:
    """A certificate that is read anew when one of its files changes.

    Args:
        chain: File of the certificate and those that link it to a root, in PEM.
        key: File of its private key, in PEM, without a password.
        client_roots: File of the roots that clients' certificates lead to, in PEM.
        clock: The monotonic clock (seconds).
        taken: Given each certificate that is in force from then on.

    Raises:
        DoorFileError: It cannot be used.
    """
    paths = [chain, key] if client_roots is None else [chain, key, client_roots]

    def read() -> Certificate:
        certificate = read_certificate(chain, key, client_roots)
        taken(certificate)
        return certificate

    return Watched("certificate", paths, read, clock)


def read_certificate(chain: Path, key: Path, client_roots: Path | None = None) -> Certificate:
    """Reads a certificate with its key, and tries them.

    Args:
        chain: File of the certificate and those that link it to a root, in PEM.
        key: File of its private key, in PEM, without a password.
        client_roots: File of the roots that clients' certificates lead to, in PEM.

    Raises:
        DoorFileError: They cannot be used.
        OSError: One cannot be read.
    """
    read = chain.read_bytes(), read_secret(key)
    server = server_context(chain, key)
    if (chain.read_bytes(), read_secret(key)) != read:
        raise DoorFileError(f"{chain} and {key} changed while they were read")
    names, expires = _try(read[0], chain, server)
    roots = None if client_roots is None else client_roots.read_bytes()
    if roots is not None and client_roots is not None:
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), roots, client_roots)
    return Certificate(*read, roots, names, expires)


def server_context(chain: Path, key: Path) -> ssl.SSLContext:
    """A TLS context for servers with this certificate, from TLS 1.2 on.

    Raises:
        DoorFileError: The files hold no certificate and its key.
        OSError: One cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without a password given, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(chain, key, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise DoorFileError(f"the key in {key} is not that of the certificate in {chain}") from error
        raise DoorFileError(
            f"{chain} and {key} hold no certificate and key in PEM, the key without a password"
        ) from error
    return context


def _try(chain: bytes, path: Path, server: ssl.SSLContext) -> tuple[tuple[str, ...], datetime]:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    _load(client, chain[: chain.index(_END) + len(_END)] if _END in chain else chain, path)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    caller = client.wrap_bio(to_client, to_server)
    answerer = server.wrap_bio(to_server, to_client, server_side=True)
    try:
        while not (_went_on(caller) & _went_on(answerer)):
            pass
    except ssl.SSLCertVerificationError as error:
        raise DoorFileError(f"no client takes the certificate in {path}: {error.verify_message}") from error
    except ssl.SSLError as error:
        raise DoorFileError(f"no TLS can be spoken with the certificate in {path}: {error.reason}") from error
    shown: dict[str, Any] = dict(caller.getpeercert() or {})
    names = tuple(name for _, name in shown.get("subjectAltName", ()))
    return names, datetime.fromtimestamp(ssl.cert_time_to_seconds(shown["notAfter"]), UTC)


def _went_on(end: ssl.SSLObject) -> bool:
    """Takes one end of a handshake as far as it goes; whether that is to the end."""
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _load(context: ssl.SSLContext, roots: bytes, path: Path) -> None:
    try:
        context.load_verify_locations(cadata=roots.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise DoorFileError(f"{path} holds no certificate in PEM") from error
