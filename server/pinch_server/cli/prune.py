"""`pinch prune`: request bodies in, shorter ones out, with an account of each."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pinch_server.cli.address import server_address
from pinch_server.cli.console import EXIT_FAILED, EXIT_REFUSED, stop
from pinch_server.cli.files import STANDARD
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.limits import explained, nearest, read_limits
from pinch_server.cli.pruned_files import Reports, prune_many, prune_one
from pinch_server.cli.pruning import Asked, Pruner, RefusedError
from pinch_server.cli.reaching import asked_tls, read_token, timeout_option, tls_options, token_option
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.core.limits import Violation
from pinch_server.core.pricing import CacheState
from pinch_server.formats.format import Format
from pinch_server.formats.registry import DIALECTS

if TYPE_CHECKING:
    from pinch import Tls

_FORMATS: Final = ", ".join(DIALECTS)
_UNKNOWN: Final = "unknown"
_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch prune body.json > smaller.json",
        "pinch prune --limit budget_tokens=20000 --limit 'protected_tools=memory_*,plan' < body.json",
        "pinch prune body.json --dry-run --stats stats.json > /dev/null",
        "pinch prune body.json --explain > smaller.json",
        "pinch prune sessions/*.json --out-dir smaller --stats all.json",
        "pinch prune body.json --server 127.0.0.1:50051 --out smaller.json",
        "pinch prune body.json --server 127.0.0.1:50051 --cache none > smaller.json",
    ),
    lines("Limits and their defaults, as long as no settings say otherwise", *explained()),
    lines(
        "The account, as --stats writes it",
        '{"stats": {…}, "edits": […], "measured": {…}, "decision_id": …, "unchanged_reason": …}',
        "with the field names of the API. An edit puts its replacement in place of the body's bytes",
        '[offset, offset + length). With --out-dir it is a list: each with its "file", or with the',
        '"problems" of a file that failed.',
    ),
    lines(
        "What the cache holds, for a service that extracts (docs/extraction.md)",
        "warm     the prefix that was sent last",
        "cold     nothing any more: it has expired",
        "none     nothing ever: the provider has no prompt cache",
        "unknown  nobody knows: taken for warm",
    ),
    lines(
        "Exit status",
        "0 done",
        "1 it failed, or one of several files did",
        "2 the input or the options are wrong, and nothing was written",
    ),
)


class _Command(click.Command):
    """Whoever gives a limit as an option of its own is told how a limit is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the arguments.

        Raises:
            click.UsageError: They are not what the command takes.
        """
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = nearest(error.option_name.lstrip("-").replace("-", "_"))
            if name is None:
                raise
            meant = f"--limit {name}={_value_of(error.option_name, given)}"
            problem = f"No such option '{error.option_name}'. Did you mean {meant}?"
            raise click.UsageError(problem, ctx) from None


def _value_of(option: str, given: list[str]) -> str:
    """What stands after an option, as far as one can tell."""
    for argument, following in zip(given, [*given[1:], ""], strict=True):
        name, equals, value = argument.partition("=")
        if name == option:
            return value if equals else following or "VALUE"
    return "VALUE"


@click.command("prune", cls=_Command, epilog=_EPILOG)
@click.argument("names", metavar="[FILE|-]...", nargs=-1)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help=f"Dialect of the bodies: {_FORMATS}.  [default: recognised]",
)
@click.option("--limit", "pairs", multiple=True, metavar="NAME=VALUE", help="A limit, see below; repeatable.")
@click.option(
    "--server",
    metavar="HOST:PORT",
    callback=server_address,
    help="Ask a running service; else it is done in this process.",
)
@timeout_option(30.0, "for one body")
@tls_options
@token_option
@click.option(
    "--cache",
    type=click.Choice((*(state.value for state in CacheState), _UNKNOWN)),
    default=_UNKNOWN,
    show_default=True,
    help="With --server: what the provider's prompt cache holds, see below.",
)
@click.option("--stats", metavar="FILE", help="Write the account as JSON; - for standard error.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the body there.")
@click.option(
    "--out-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write each body there, under the name of its file; needed for several.",
)
@click.option("--dry-run", is_flag=True, help="Count only: the body comes out as it went in.")
@click.option("--explain", is_flag=True, help="Name each trimmed result, and why it was, on standard error.")
@click.option("--json", "as_json", is_flag=True, help="The account as JSON, not as lines.")
@config_option
def prune_command(
    *,
    names: tuple[str, ...],
    format_name: str | None,
    pairs: tuple[str, ...],
    server: str | None,
    timeout: float,
    cache: str,
    stats: str | None,
    out: Path | None,
    out_dir: Path | None,
    dry_run: bool,
    explain: bool,
    as_json: bool,
    config_path: Path | None,
    token_file: Path | None,
    **tls: Any,
) -> None:
    """Shorten request bodies.

    Reads a provider's request JSON from FILE, or from standard input, and writes the same bytes with old tool
    results cut down to standard output, and nothing else there. The account, in tokens, goes to standard
    error. Limits that are not given are those of the settings, or of the service with --server.
    """
    names = names or (STANDARD,)
    if out_dir is None and len(names) > 1:
        raise click.UsageError("several files need --out-dir DIR to be written to")
    if out_dir is not None and out is not None:
        raise click.UsageError("give --out or --out-dir, not both")
    if explain and (out_dir is not None or as_json):
        raise click.UsageError("--explain is for one body and for people: leave out --out-dir and --json")
    if server is None and cache != _UNKNOWN:
        raise click.UsageError("--cache is for --server: nothing is extracted in this process")
    asked = _read(format_name, pairs, cache, dry_run=dry_run)
    reports = Reports(
        stats=Path(stats) if stats and stats != STANDARD else None,
        as_json=as_json or stats == STANDARD,
        is_explained=explain,
    )
    try:
        with _pruner(asked, server, timeout, config_path, asked_tls(**tls), read_token(token_file)) as pruner:
            if out_dir is None:
                prune_one(pruner, names[0], out, reports)
            else:
                prune_many(pruner, names, out_dir, reports)
    except RefusedError as error:
        # There was not even a pruner.
        stop(error.problems, EXIT_REFUSED if error.is_callers_fault else EXIT_FAILED)


def _read(format_name: str | None, pairs: tuple[str, ...], cache: str, *, dry_run: bool) -> Asked:
    limits, violations = read_limits(pairs)
    if format_name is not None and format_name not in DIALECTS:
        problem = f"{format_name} is not a known value; give one of {_FORMATS}, or leave it out"
        violations = (Violation("body.format", problem), *violations)
        format_name = None
    format_ = None if format_name is None else Format(format_name)
    return Asked(format_, limits, dry_run, violations, None if cache == _UNKNOWN else CacheState(cache))


def _pruner(
    asked: Asked,
    server: str | None,
    timeout: float,
    config_path: Path | None,
    tls: "Tls | None",
    token: str | None,
) -> AbstractContextManager[Pruner]:
    # Only one of the two is needed, and each takes a while to load.
    if server is None:
        if tls is not None or token is not None:
            raise click.UsageError("--tls… and --token-file are for --server")
        from pinch_server.cli.in_process import in_process  # noqa: PLC0415

        return in_process(asked, settings_or_stop(config_path, {}))
    from pinch_server.cli.through_service import through_service  # noqa: PLC0415

    return through_service(asked, server, timeout, tls, token)
