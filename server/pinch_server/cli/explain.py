"""`pinch explain`: one decision and its receipt."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from pinch_server.cli.console import EXIT_FAILED, EXIT_REFUSED, stop
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.receipt import receipt_lines
from pinch_server.cli.stored import database, own_only, reached, settings_of, stored_options, told
from pinch_server.core.nouns import counted
from pinch_server.policy import objective_of
from pinch_server.rpc.insight_convert import shown_decision
from pinch_server.rpc.outcomes import UUID
from pinch_server.settings import Settings

_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch explain 0197f3c0-7d5e-7c1a-9a35-0242ac120002",
        "pinch explain 0197f3c0-7d5e-7c1a-9a35-0242ac120002 --json",
        "pinch explain 0197f3c0-7d5e-7c1a-9a35-0242ac120002 --server 127.0.0.1:50051",
    ),
    lines(
        "Exit status",
        "0 done",
        "1 there is no such decision, or the database or the service cannot be read",
        "2 an option is wrong",
    ),
)
_NONE: Final = "no decision of that id is stored; one just made may still be on its way"


@click.command("explain", epilog=_EPILOG)
@click.argument("decision_id")
@stored_options
def explain_command(
    *,
    decision_id: str,
    as_json: bool,
    server: str | None,
    database_url: str | None,
    state_dir: str | None,
    timeout: float,
    config_path: Path | None,
    token_file: Path | None,
    **tls: Any,
) -> None:
    """Show what one decision trimmed and why, message by message.

    The id is in the reply of Prune, in the log and in `pinch decisions`. Of each result that differs from
    what came there is its message, its tool, what was done, why, and its size in tokens before and after; the
    text itself is not kept with it.
    """
    decision_id = decision_id.lower()
    if not UUID.fullmatch(decision_id):
        stop([f"{decision_id} is no decision's id: give the one from the reply of Prune"], EXIT_REFUSED)
    own_only(server, token_file, tls)
    with told():
        if server:
            with reached(server, timeout, token_file, tls) as service:
                shown = service.decision(decision_id)
        else:
            shown = _read(settings_of(config_path, database_url, state_dir), decision_id)
    click.echo(json.dumps(shown) if as_json else "\n".join(_account(shown)))


def _read(settings: Settings, decision_id: str) -> dict[str, Any]:
    with database(settings) as insight:
        found = insight.decision(decision_id)
    if found is None:
        stop([_NONE], EXIT_FAILED)
    return shown_decision(found, objective_of(settings))


def _account(shown: Mapping[str, Any]) -> Iterator[str]:
    one, trims = shown["decision"], shown["trims"]
    for name, value in _facts(one):
        yield f"{click.style(f'{name:<15}', bold=True)}  {value}"
    yield ""
    if trims:
        yield from receipt_lines(trims)
    elif one["elided"] + one["omitted"] + one["capped"]:
        yield "Which results were trimmed is not kept (store.receipts)."
    else:
        yield "Nothing was trimmed, or which results were is not kept (store.receipts)."


def _facts(one: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    made = datetime.fromtimestamp(one["created_at_unix_micros"] / 1e6, UTC)
    yield "decision", one["decision_id"]
    yield "made (UTC)", f"{made:%Y-%m-%d %H:%M:%S}"
    if one["model"]:
        yield "model", one["model"]
    if "pinch_original_tokens" in one:
        before, after = one["pinch_original_tokens"], one["pinch_final_tokens"]
        share = f" ({(before - after) / before:.1%} saved)" if before > after else ""
        dry = ", a dry run: nothing was changed" if one["dry_run"] else ""
        yield "tokens", f"{before:,} -> {after:,}{share}{dry}"
    else:
        yield "tokens", "not measured: pruning was switched off"
    yield "budget", "met" if one["budget_met"] else "not met"
    why = f" ({one['ranking_reason']})" if one["ranking_reason"] else ""
    yield "ordered by", one["ranking"].lower().replace("_", " ") + why
    if "prefix" in one:
        prefix = one["prefix"]
        yield (
            "prefix",
            f"{prefix['matching_messages']:,} of {counted(prefix['previous_messages'], 'message')} unchanged",
        )
    yield "decided in", f"{one['latency_micros'] / 1000:,.2f} ms"
    yield "outcome", one["outcome"].lower()
