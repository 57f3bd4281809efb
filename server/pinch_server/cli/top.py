"""`pinch top`: a running service, watched from anywhere that reaches its gRPC port."""

import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click

from pinch_server.cli.console import say
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.reaching import own_tls, server_option, timeout_option, tls_options, token_option
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.cli.stored import reached, told
from pinch_server.cli.top_figures import Figures, look

_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch top",
        "pinch top --server pinch.example:50051 --tls --token-file insight.token",
        "pinch top --once > now.txt",
        "pinch top --json | jq .latency_p95_ms",
    ),
    lines(
        "Where it shows",
        "On a terminal it goes on until q is pressed; pip install '.[top]' has what that takes.",
        "Elsewhere, and with --once, it prints one table; with --json one object.",
    ),
    lines("Exit status", "0 done", "1 the service does not answer, or refuses", "2 an option is wrong"),
)
_HEAD: Final = ("made (UTC)", "model", "tokens", "saved", "ordered by", "ms", "outcome")


@click.command("top", epilog=_EPILOG)
@config_option
@server_option
@click.option(
    "--every",
    type=click.FloatRange(min=0.2, max=3600),
    default=2.0,
    show_default=True,
    help="Time between two looks (seconds).",
)
@click.option("--once", is_flag=True, help="Look once, print a table and end.")
@click.option("--json", "as_json", is_flag=True, help="Look once, print JSON and end.")
@timeout_option(10.0, "for each answer")
@tls_options
@token_option
def top_command(
    *,
    config_path: Path | None,
    server: str | None,
    every: float,
    once: bool,
    as_json: bool,
    timeout: float,
    token_file: Path | None,
    **tls: Any,
) -> None:
    """Watch a running service: calls, tokens saved, latency, embedder, database, and the last decisions.

    Everything comes over gRPC, from the same answers as `pinch savings` and `pinch decisions`, and needs a
    token of the role insight where the service asks for tokens. Without --server, a service with TLS is known
    by the certificate of its settings.
    """
    own = None
    if server is None:
        settings = settings_or_stop(config_path, {})
        server, own = settings.server.listen, own_tls(settings)
    has_screen = sys.stdout.isatty() and not (once or as_json)
    if has_screen and find_spec("textual") is None:
        say("A live view needs textual: pip install '.[top]'. One look:")
        has_screen = False
    with told(), reached(server, timeout, token_file, tls, own) as service:
        if as_json:
            click.echo(json.dumps(look(service).fields()))
            return
        if not has_screen:
            click.echo("\n".join(_table(look(service))))
            return
        # Takes a while to load, and is not there in every install.
        from pinch_server.cli.top_screen import TopScreen  # noqa: PLC0415

        TopScreen(service, server, every).run()


def _table(figures: Figures) -> Iterator[str]:
    for name, value in figures.facts():
        yield f"{click.style(f'{name:<14}', bold=True)}  {value}"
    rows = [_HEAD, *figures.rows()]
    if len(rows) == 1:
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield ""
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
