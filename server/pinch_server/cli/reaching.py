"""How a command reaches a service: its options for the address, the time, TLS and a token."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pinch_server.cli.address import server_address
from pinch_server.cli.console import EXIT_FAILED, stop
from pinch_server.doors.certificates import read_certificate
from pinch_server.doors.watched import DoorFileError
from pinch_server.listen import parse_listen
from pinch_server.settings import Settings

if TYPE_CHECKING:
    from pinch import Tls

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE: Final = click.Path(path_type=Path, exists=True, dir_okay=False)


def tls_options(command: _Command) -> _Command:
    """Gives a command `--tls`, `--tls-ca`, `--tls-cert`, `--tls-key` and `--tls-name`."""
    for option in (
        click.option("--tls-name", metavar="NAME", help="Name in the service's certificate, if another."),
        click.option("--tls-key", metavar="FILE", type=_FILE, help="Private key of --tls-cert, PEM."),
        click.option("--tls-cert", metavar="FILE", type=_FILE, help="Certificate to show the service, PEM."),
        click.option("--tls-ca", metavar="FILE", type=_FILE, help="TLS, and the roots to trust, PEM."),
        click.option("--tls", is_flag=True, help="TLS, with the roots that gRPC trusts by itself."),
    ):
        command = option(command)
    return command


server_option: Final = click.option(
    "--server",
    metavar="ADDRESS",
    callback=server_address,
    help="HOST:PORT or unix:PATH; else the address of the settings.",
)


def timeout_option(seconds: float, what: str = "to answer") -> Callable[[_Command], _Command]:
    """`--timeout`: the time that the service has for `what`, by default so many seconds."""
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=seconds,
        show_default=True,
        help=f"Time the service has {what} (seconds).",
    )


token_option: Final = click.option(
    "--token-file", metavar="FILE", type=_FILE, help="File that holds the token to send, and nothing else."
)


def asked_tls(
    *, tls: bool, tls_ca: Path | None, tls_cert: Path | None, tls_key: Path | None, tls_name: str | None
) -> "Tls | None":
    """What the options of `tls_options` ask for; None: plain text.

    Raises:
        click.UsageError: They do not go together.
    """
    if not (tls or tls_ca):
        if tls_cert or tls_key or tls_name:
            raise click.UsageError("--tls-cert, --tls-key and --tls-name need --tls or --tls-ca")
        return None
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key need each other")
    from pinch import Tls  # noqa: PLC0415 gRPC takes a while to load, and is seldom asked for

    return Tls(
        root_certificates=_read(tls_ca),
        certificate_chain=_read(tls_cert),
        private_key=_read(tls_key),
        server_name=tls_name,
    )


def own_tls(settings: Settings) -> "Tls | None":
    """How the service of these settings is reached from its own machine; None: in plain text.

    Its own certificate is all that is trusted, and is shown to it where it asks clients for one.

    Raises:
        SystemExit: Its certificate cannot be used: status 1.
    """
    tls = settings.server.tls
    if tls.cert is None or tls.key is None or parse_listen(settings.server.listen).path:
        return None
    from pinch import Tls  # noqa: PLC0415 as above

    try:
        own = read_certificate(tls.cert, tls.key)
    except (DoorFileError, OSError) as error:
        stop([str(error)], EXIT_FAILED)
    name = own.names[0].replace("*", "pinch") if own.names else None
    if tls.client_ca is None:
        return Tls(root_certificates=own.chain, server_name=name)
    return Tls(
        root_certificates=own.chain, certificate_chain=own.chain, private_key=own.key, server_name=name
    )


def read_token(path: Path | None) -> str | None:
    """The token in a file.

    Raises:
        click.UsageError: There is none.
    """
    if path is None:
        return None
    token = path.read_bytes().decode("utf-8", "replace").strip()
    if not token:
        raise click.UsageError(f"--token-file: {path} is empty")
    return token


def _read(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()
