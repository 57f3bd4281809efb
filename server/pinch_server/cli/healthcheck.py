"""`pinch healthcheck`: whether a service takes calls, as an exit status."""

from pathlib import Path
from typing import Any, Final

import click

from pinch_server.cli.console import EXIT_FAILED, say, stop
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.reaching import asked_tls, own_tls, server_option, timeout_option, tls_options
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.rpc.asking import NotServingError, ask_health

_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch healthcheck",
        "pinch healthcheck --server 127.0.0.1:50051 --timeout 1",
        "pinch healthcheck --server pinch.internal:50051 --tls-ca ca.pem",
    ),
    lines(
        "Exit status",
        "0 it takes calls",
        "1 it does not, or nobody answers",
        "2 the address or another option is wrong",
    ),
)


@click.command("healthcheck", epilog=_EPILOG)
@config_option
@server_option
@timeout_option(5.0)
@tls_options
def healthcheck_command(config_path: Path | None, server: str | None, timeout: float, **options: Any) -> None:
    """Ask a running service whether it takes calls, for containers and scripts.

    It does from the end of its start to the first signal; a database that is down does not change that. It
    needs no token. Without --server, a service with TLS is known by the certificate of its settings.
    """
    tls = asked_tls(**options)
    address = server
    if address is None:
        settings = settings_or_stop(config_path, {})
        address, tls = settings.server.listen, tls or own_tls(settings)
    try:
        ask_health(address, timeout, tls)
    except NotServingError as error:
        stop([str(error)], EXIT_FAILED)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    say(f"{address}: SERVING")
