"""`pinch decisions`: the newest stored decisions."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from pinch_server.cli.console import say
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.stored import database, own_only, reached, settings_of, stored_options, told
from pinch_server.core.insight import DecisionFilter
from pinch_server.policy import objective_of
from pinch_server.rpc.insight_convert import shown_fields, write_decision
from pinch_server.settings import Settings

_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch decisions",
        "pinch decisions --last 5 --json",
        "pinch decisions --server 127.0.0.1:50051",
    ),
    lines("Exit status", "0 done", "1 the database or the service cannot be read", "2 an option is wrong"),
)
_HEAD: Final = ("made (UTC)", "decision", "model", "tokens", "saved", "outcome")


@click.command("decisions", epilog=_EPILOG)
@click.option(
    "--last", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many at most."
)
@stored_options
def decisions_command(
    *,
    last: int,
    as_json: bool,
    server: str | None,
    database_url: str | None,
    state_dir: str | None,
    timeout: float,
    config_path: Path | None,
    token_file: Path | None,
    **tls: Any,
) -> None:
    """Show the newest decisions, the newest first; with --json every stored figure, one decision a line.

    A decision is in the database a moment after its reply.
    """
    own_only(server, token_file, tls)
    with told():
        if server:
            with reached(server, timeout, token_file, tls) as service:
                shown = service.decisions(last)
        else:
            shown = _read(settings_of(config_path, database_url, state_dir), last)
    if as_json:
        for decision in shown:
            click.echo(json.dumps(decision))
    elif shown:
        click.echo("\n".join(_table([_HEAD, *map(_row, shown)])))
    else:
        say("No decisions yet.")


def _read(settings: Settings, last: int) -> list[dict[str, Any]]:
    objective = objective_of(settings)
    with database(settings) as insight:
        found = insight.page(DecisionFilter(), last).decisions
    return [shown_fields(write_decision(one, objective)) for one in found]


def _row(shown: dict[str, Any]) -> tuple[str, ...]:
    made = datetime.fromtimestamp(shown["created_at_unix_micros"] / 1e6, UTC)
    sizes = saved = "-"
    if "pinch_original_tokens" in shown:
        original, final = shown["pinch_original_tokens"], shown["pinch_final_tokens"]
        sizes = f"{original:,} -> {final:,}"
        saved = f"{max(original - final, 0):,}{' (dry run)' if shown['dry_run'] else ''}"
    return (
        f"{made:%Y-%m-%d %H:%M:%S}",
        shown["decision_id"],
        shown["selected_model"] or shown["model"] or "-",
        sizes,
        saved,
        shown["outcome"].lower(),
    )


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
