"""One file, or many of them, through a pruner: what is written where, and how it is told."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from rich.progress import Progress
from rich.table import Table

from pinch_server.cli import files
from pinch_server.cli.account import account, reason_in_words, told
from pinch_server.cli.console import EXIT_FAILED, EXIT_REFUSED, console, say, show, stop
from pinch_server.cli.files import STANDARD, OversizeError, UnusableFileError
from pinch_server.cli.pruning import Pruner, RefusedError
from pinch_server.cli.receipt import receipt_lines
from pinch_server.core.nouns import counted
from pinch_server.rpc.asking import oversize

_BODY: Final = "body.json"


@dataclass(frozen=True, slots=True)
class Reports:
    """Where the account goes besides the lines for people.

    Attributes:
        stats: The file it is written to as JSON; None for none.
        as_json: Whether standard error gets JSON instead of those lines.
        is_explained: Whether those lines name each trimmed result as well.
    """

    stats: Path | None
    as_json: bool
    is_explained: bool = False


def prune_one(pruner: Pruner, name: str, out: Path | None, reports: Reports) -> None:
    """Prunes one file to standard output or into a file.

    Raises:
        SystemExit: It did not work out; standard output has nothing then.
    """
    try:
        body, one = _pruned(pruner, name)
    except UnusableFileError as error:
        stop([str(error)], EXIT_REFUSED)
    except RefusedError as error:
        problems = (_of_file(name, problem) for problem in error.problems)
        stop(problems, EXIT_REFUSED if error.is_callers_fault else EXIT_FAILED)
    try:
        _write_stats(reports, one)
        if out is None:
            files.write_standard(body)
        else:
            files.write(out, body)
    except UnusableFileError as error:
        stop([str(error)], EXIT_FAILED)
    if reports.as_json:
        say(_json(one))
    else:
        for line in told(one, budget_tokens=pruner.budget_tokens, is_stored=pruner.is_stored):
            say(line)
        if reports.is_explained and one["edits"]:
            say("")
            for line in receipt_lines(one["edits"]):
                say(line)


def prune_many(pruner: Pruner, names: Sequence[str], out_dir: Path, reports: Reports) -> None:
    """Prunes files into a directory, each under its own name; one that fails does not stop the others.

    Raises:
        click.UsageError: Two files have one name, or a file would be written over.
        SystemExit: At least one file failed; or what was asked for is wrong, and nothing is written.
    """
    targets = _targets(names, out_dir)
    if pruner.violations:
        stop(_all_problems(pruner, names), EXIT_REFUSED)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        stop([f"{out_dir}: cannot be made: {error.strerror}"], EXIT_FAILED)
    accounts: list[dict[str, Any]] = []
    screen = console()
    with Progress(console=screen, disable=not screen.is_terminal) as progress:
        for name in progress.track(names, description="Pruning"):
            try:
                body, one = _pruned(pruner, name)
                files.write(targets[name], body)
                accounts.append({"file": name, **one})
            except (UnusableFileError, RefusedError) as error:
                problems = error.problems if isinstance(error, RefusedError) else (str(error),)
                accounts.append({"file": name, "problems": list(problems)})
    try:
        _write_stats(reports, accounts)
    except UnusableFileError as error:
        stop([str(error)], EXIT_FAILED)
    if reports.as_json:
        say(_json(accounts))
    else:
        show(_summary(accounts))
    failed = [one for one in accounts if "problems" in one]
    if failed:
        lines = [_of_file(one["file"], problem) for one in failed for problem in one["problems"]]
        stop([f"{len(failed)} of {counted(len(accounts), 'file')} failed:", *lines], EXIT_FAILED)


def _pruned(pruner: Pruner, name: str) -> tuple[bytes, dict[str, Any]]:
    try:
        pruned = pruner.prune(files.read(name, pruner.most_bytes))
    except OversizeError:
        violations = (*pruner.violations, oversize(pruner.most_bytes))
        raise RefusedError(tuple(map(str, violations)), is_callers_fault=True) from None
    return pruned.body, account(pruned)


def _all_problems(pruner: Pruner, names: Sequence[str]) -> Iterator[str]:
    """What is wrong with the options, once, and then what is wrong with each of the files besides."""
    wrong_with_all = tuple(map(str, pruner.violations))
    yield from wrong_with_all
    for name in names:
        try:
            _pruned(pruner, name)
        except RefusedError as error:
            yield from (_of_file(name, one) for one in error.problems if one not in wrong_with_all)
        except UnusableFileError as error:
            yield str(error)


def _of_file(name: str, problem: str) -> str:
    """A problem with a body in terms of its file: the API's name for the body is a usual name for a file."""
    field, colon, words = problem.partition(": ")
    shown = "<stdin>" if name == STANDARD else name
    if not colon or not field.startswith(_BODY):
        return problem
    inside = field.removeprefix(_BODY).removeprefix(".")
    return ": ".join(part for part in (shown, inside, words) if part)


def _targets(names: Sequence[str], out_dir: Path) -> Mapping[str, Path]:
    targets: dict[str, Path] = {}
    for name in names:
        target = out_dir / Path(name).name
        if name == STANDARD:
            raise click.UsageError("standard input has no name to be written under in --out-dir")
        if target in targets.values():
            raise click.UsageError(f"two files would be written to {target}; prune them apart")
        if target.resolve() == Path(name).resolve():
            raise click.UsageError(f"{name} would be written over itself; give another --out-dir")
        targets[name] = target
    return targets


def _write_stats(reports: Reports, told: Any) -> None:
    if reports.stats is not None:
        files.write(reports.stats, f"{_json(told)}\n".encode())


def _json(told: Any) -> str:
    return json.dumps(told, indent=2, ensure_ascii=False)


def _summary(accounts: Sequence[Mapping[str, Any]]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("file", overflow="fold", ratio=1)
    for name in ("before", "after", "saved"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("budget", no_wrap=True)
    shown.add_column("unchanged because", overflow="fold", ratio=1)
    for one in accounts:
        name, stats = Path(one["file"]).name, one.get("stats")
        if "problems" in one:
            shown.add_row(name, "", "", "", "", "failed, see below")
            continue
        reason = reason_in_words(one["unchanged_reason"])
        if stats is None:
            shown.add_row(name, "", "", "", "", reason)
            continue
        numbers = (f"{stats[name]:,}" for name in ("original_tokens", "final_tokens", "tokens_saved"))
        shown.add_row(name, *numbers, "met" if stats["budget_met"] else "not met", reason)
    return shown
