"""`pinch expand`: the original of a trimmed or extracted tool result."""

import json
from pathlib import Path
from typing import Any, Final

import click

from pinch_server.cli.console import EXIT_FAILED, stop
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.reaching import (
    asked_tls,
    own_tls,
    read_token,
    server_option,
    timeout_option,
    tls_options,
    token_option,
)
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.rpc.asking_originals import NoOriginalToldError, ask_original

_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch expand mfzwizltoq2dgmrrgi3tknzy",
        "pinch expand mfzwizltoq2dgmrrgi3tknzy --json",
        "pinch expand mfzwizltoq2dgmrrgi3tknzy --server pinch.internal:50051 --tls-ca ca.pem --token-file t",
    ),
    lines(
        "Exit status",
        "0 the original is on standard output",
        "1 there is none (any more), or nobody answers",
        "2 an option is wrong",
    ),
)


@click.command("expand", epilog=_EPILOG)
@click.argument("reference")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with reference and text.")
@config_option
@server_option
@timeout_option(5.0)
@token_option
@tls_options
def expand_command(
    *,
    reference: str,
    as_json: bool,
    config_path: Path | None,
    server: str | None,
    timeout: float,
    token_file: Path | None,
    **options: Any,
) -> None:
    """Print the original of a trimmed tool result by its REFERENCE.

    A reference stands in the reply's edits, and in the last line of an extracted result. Originals are kept
    where originals.enabled is on, for a time, and for the tenant alone whose results they were. When there is
    none, do not ask again: run the tool again.
    """
    tls = asked_tls(**options)
    if server is None:
        settings = settings_or_stop(config_path, {})
        server, tls = settings.server.listen, tls or own_tls(settings)
    try:
        text = ask_original(server, reference, timeout, token=read_token(token_file), tls=tls)
    except NoOriginalToldError as error:
        stop([str(error)], EXIT_FAILED)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    # As bytes: of a text click would leave out escape sequences, and the locale may have too few letters.
    click.echo(json.dumps({"reference": reference, "text": text}) if as_json else text.encode(), nl=as_json)
