"""`pinch replay`: what pruning would have done to sessions that were had already."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
from rich.progress import Progress
from rich.table import Table

from pinch_server.cli import files
from pinch_server.cli.console import EXIT_FAILED, EXIT_REFUSED, console, say, show, stop
from pinch_server.cli.files import UnusableFileError
from pinch_server.cli.help import epilog, lines
from pinch_server.cli.limits import read_limits
from pinch_server.cli.replay_report import html_report
from pinch_server.cli.replayed import ReplayedSession, change, pooled, replay_session
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.cli.transcripts import TranscriptError, read_transcript, transcript_files
from pinch_server.core.cache_model import CachePrices
from pinch_server.core.limits import Limits, limit_violations
from pinch_server.core.nouns import counted
from pinch_server.core.price_table import listed_rates
from pinch_server.policy import counter_of
from pinch_server.settings import to_limits

_MODEL: Final = "claude-sonnet-4-5"
_EPILOG: Final = epilog(
    lines(
        "Examples",
        "pinch replay sessions/ --html report.html",
        "pinch replay requests.jsonl --model gpt-5.2 --limit budget_tokens=80000",
        "pinch replay sessions/*.json --json > replayed.json",
    ),
    lines(
        "What is read",
        "*.json      a request body of OpenAI, Anthropic, Gemini or Bedrock, or a list of messages or items",
        "*.jsonl     a message or item a line, as agents log them, or a request body a line: of bodies that",
        "            continue each other the last",
    ),
    lines(
        "Exit status",
        "0 done",
        "1 a file could not be read",
        "2 an option is wrong, or there is no session",
    ),
)


@click.command("replay", epilog=_EPILOG)
@click.argument("names", metavar="DIR|FILE...", nargs=-1, required=True)
@click.option(
    "--model", default=_MODEL, show_default=True, metavar="NAME", help="Whose prices to reckon with."
)
@click.option("--limit", "pairs", multiple=True, metavar="NAME=VALUE", help="As `pinch prune` has it.")
@click.option(
    "--html", "html_path", type=click.Path(path_type=Path, dir_okay=False), help="Write a report there."
)
@click.option("--json", "as_json", is_flag=True, help="Every number as JSON on standard output, no table.")
@config_option
def replay_command(
    *,
    names: tuple[str, ...],
    model: str,
    pairs: tuple[str, ...],
    html_path: Path | None,
    as_json: bool,
    config_path: Path | None,
) -> None:
    """Show what pruning would have saved on your own transcripts.

    Each session is replayed call by call, with pruning and without, through a model of the provider's prompt
    cache: what a call shares with the one before is read from it, the rest is written to it. Nothing is sent
    anywhere, and the report quotes nothing of what was said.
    """
    rates = listed_rates(model)
    if rates is None:
        stop([f"--model: no price is known of {model!r}; give another, such as {_MODEL}"], EXIT_REFUSED)
    settings = settings_or_stop(config_path, {})
    limits = _limits(to_limits(settings), pairs)
    counter, prices = counter_of(settings), CachePrices.of(rates)
    sessions: list[ReplayedSession] = []
    problems: list[str] = []
    screen = console()
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        for path in progress.track(list(transcript_files(names)), description="Replaying"):
            try:
                found = read_transcript(path)
            except TranscriptError as error:
                problems.append(f"{path}: {error}")
                continue
            for number, conversation in enumerate(found, 1):
                name = path.name if len(found) == 1 else f"{path.name} #{number}"
                sessions.append(replay_session(name, conversation, limits, counter, prices))
    if not sessions:
        looked_for = "" if problems else f"; {', '.join(names)} holds no *.json, *.jsonl or *.ndjson file"
        stop([*problems, f"there is no session to replay{looked_for}"], EXIT_REFUSED)
    _tell(sessions, limits, f"input prices of {model}", html_path, as_json=as_json)
    if problems:
        stop(problems, EXIT_FAILED)


def _limits(defaults: Limits, pairs: Sequence[str]) -> Limits:
    """The limits of the settings with those of the command line.

    Raises:
        SystemExit: One of them is wrong; all are told.
    """
    given, violations = read_limits(pairs)
    limits = replace(defaults, **given)
    problems = [str(one) for one in violations]
    problems += [f"limits.{one}" for one in limit_violations(limits)]
    if problems:
        stop(problems, EXIT_REFUSED)
    return limits


def _tell(
    sessions: Sequence[ReplayedSession],
    limits: Limits,
    priced_as: str,
    html_path: Path | None,
    *,
    as_json: bool,
) -> None:
    if html_path is not None:
        try:
            files.write(html_path, html_report(sessions, limits, priced_as).encode())
        except UnusableFileError as error:
            stop([str(error)], EXIT_FAILED)
    if as_json:
        click.echo(json.dumps(_fields(sessions, limits)))
    else:
        show(_table(sessions))
        say(f"Budget {counted(limits.budget_tokens, 'token')}, {priced_as}; no cache expires.")
    if html_path is not None:
        say(f"Report: {html_path}")


def _fields(sessions: Sequence[ReplayedSession], limits: Limits) -> Mapping[str, Any]:
    whole, final = pooled(sessions)
    return {
        "budget_tokens": limits.budget_tokens,
        "dollars_without": round(whole, 6),
        "dollars_with": round(final, 6),
        "change": round(change(whole, final), 5),
        "sessions": [session.fields() for session in sessions],
    }


def _table(sessions: Sequence[ReplayedSession]) -> Table:
    shown = Table(box=None)
    shown.add_column("session", overflow="fold")
    for name in ("calls", "last call", "pruned", "$ without", "$ with", "change", "breaks"):
        shown.add_column(name, justify="right")
    for session in sessions:
        last = session.calls[-1]
        shown.add_row(
            session.name,
            f"{len(session.calls):,}",
            f"{last.whole_tokens:,}",
            f"{last.final_tokens:,}",
            f"{session.whole_dollars:.4f}",
            f"{session.final_dollars:.4f}",
            f"{change(session.whole_dollars, session.final_dollars):+.1%}",
            str(session.breaks),
        )
    whole, final = pooled(sessions)
    shown.add_row("all", "", "", "", f"{whole:.4f}", f"{final:.4f}", f"{change(whole, final):+.1%}", "")
    return shown
