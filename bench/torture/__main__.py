"""``python -m bench.torture``: kills, outages and full disks; exit status 1 when one did harm."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.databases import KINDS, NoDatabaseError
from bench.torture.disks import Degraded, NoMountError, on_a_full_disk, on_a_read_only_disk, small_disk
from bench.torture.kills import Survival, survive
from bench.torture.outages import outage


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the torture.

    Returns:
        0; 1 when something was lost, doubled or not told; 2 when there is no such database here.
    """
    options = _parser().parse_args(argv)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    survivals: list[Survival] = []
    degraded: list[Degraded] = []
    try:
        with Progress(console=Console(file=sys.stderr)) as bar:
            for kind in options.databases:
                task = bar.add_task(f"{kind}: kills", total=options.kills)
                with TemporaryDirectory(prefix="pinch-torture-") as name:
                    directory = Path(name)
                    state = directory / "state"
                    state.mkdir()
                    with outage(kind, directory) as database:
                        survivals.append(
                            survive(
                                kind,
                                database,
                                state,
                                options.kills,
                                calls=options.calls,
                                workers=options.workers,
                                tick=lambda done, task=task: bar.update(task, advance=done),  # type: ignore[misc]
                            )
                        )
    except NoDatabaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        degraded = disks()
    except NoMountError as error:
        console.print(f"Disks are left out: {error}.")
    console.print(_kills_table(survivals))
    if degraded:
        console.print(_disks_table(degraded))
    if options.json:
        report = {"kills": list(map(asdict, survivals)), "disks": list(map(asdict, degraded))}
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    clean = [one.is_clean for one in survivals] + [one.is_clean for one in degraded]
    return int(not all(clean))


def disks() -> list[Degraded]:
    """What happens on a full disk and on a read-only one.

    Raises:
        NoMountError: No disk can be mounted here.
    """
    found = []
    for run, kibibytes in ((on_a_full_disk, 256), (on_a_read_only_disk, 4_096)):
        with TemporaryDirectory(prefix="pinch-torture-") as name:
            directory = Path(name)
            state = directory / "state"
            state.mkdir()
            with outage("sqlite", directory) as database, small_disk(state, kibibytes):
                found.append(run(database, state))
    return found


def _kills_table(survivals: Sequence[Survival]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="Killed under load (SIGKILL)")
    columns = (
        "database",
        "kills",
        "acknowledged",
        "missing",
        "doubled",
        "torn lines",
        "unpersisted",
        "stored",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "database" else "right")
    for one in survivals:
        numbers = (
            one.kills,
            one.acknowledged,
            one.missing,
            one.doubled,
            one.torn,
            one.unpersisted,
            one.stored,
        )
        table.add_row(one.database, *(f"{number:,}" for number in numbers))
    phases = "; ".join(f"{one.database}: {_phases(one)}" for one in survivals)
    table.caption = f"The database, kill by kill: {phases}."
    return table


def _phases(one: Survival) -> str:
    return ", ".join(f"{phase} {number}" for phase, number in one.phases.items())


def _disks_table(degraded: Sequence[Degraded]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="Disks that take nothing")
    columns = ("disk", "persisted before", "answered unpersisted", "counted", "replies harmed", "recovers")
    for column in columns:
        table.add_column(column, justify="left" if column == "disk" else "right")
    for one in degraded:
        recovers = "-" if one.recovers is None else "yes" if one.recovers else "no"
        numbers = (one.persisted, one.unpersisted, one.counted, one.differing)
        table.add_row(one.disk, *(f"{number:,}" for number in numbers), recovers)
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=24, help="for each database (24)")
    parser.add_argument("--calls", type=int, default=300, help="acknowledged at least before a kill (300)")
    parser.add_argument(
        "--databases", nargs="+", choices=KINDS, default=list(KINDS), help="which kinds (both)"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes of each service (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
