"""`pinch healthcheck`: whether a service takes calls, as an exit status."""

from pathlib import Path
from typing import Final

import click

from pinch_server.cli.address import server_address
from pinch_server.cli.console import EXIT_FAILED, say, stop
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.rpc.asking import NotServingError, ask_health

_EPILOG: Final = epilog(
    lines("Examples", "pinch healthcheck", "pinch healthcheck --server 127.0.0.1:50051 --timeout 1"),
    lines(
        "Exit status",
        "0 it takes calls",
        "1 it does not, or nobody answers",
        "2 the address or another option is wrong",
    ),
)


@click.command("healthcheck", epilog=_EPILOG)
@config_option
@click.option(
    "--server",
    metavar="ADDRESS",
    callback=server_address,
    help="HOST:PORT or unix:PATH; else the address of the settings.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Time the service has to answer (seconds).",
)
def healthcheck_command(config_path: Path | None, server: str | None, timeout: float) -> None:
    """Ask a running service whether it takes calls, for containers and scripts.

    It does from the end of its start to the first signal; a database that is down does not change that.
    """
    address = server or settings_or_stop(config_path, {}).server.listen
    try:
        ask_health(address, timeout)
    except NotServingError as error:
        stop([str(error)], EXIT_FAILED)
    say(f"{address}: SERVING")
