"""``python -m bench.chaos``: fault after fault against a real service; exit status 1 when one did harm."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.progress import Progress

from bench.chaos import helpers_gone, processes, strangers
from bench.chaos.row import Row
from bench.chaos.table import markdown, table
from bench.databases import NoDatabaseError
from bench.torture.disks import NoMountError

FAULTS: Final[dict[str, Callable[[Path, float], Row]]] = {
    "embedder": helpers_gone.embedder_hung,
    "database": helpers_gone.database_stopped,
    "disk": helpers_gone.disk_full,
    "worker": processes.worker_killed,
    "overload": processes.overload,
    "slow": strangers.slow_clients,
    "connections": strangers.connections,
    "malformed": strangers.malformed,
    "huge": strangers.huge_messages,
    "torture": processes.torture,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the faults.

    Returns:
        0; 1 when one did harm; 2 when none could be run.
    """
    options = _parser().parse_args(argv)
    errors = Console(stderr=True, highlight=False)
    rows: list[Row] = []
    with Progress(console=errors) as bar:
        task = bar.add_task("chaos", total=len(options.faults))
        for name in options.faults:
            bar.update(task, description=name)
            try:
                rows.append(run(name, options.seconds))
            except (NoDatabaseError, NoMountError) as error:
                errors.print(f"{name} is left out: {error}")
            bar.update(task, advance=1)
    if options.markdown:
        print(markdown(rows))
    else:
        Console(highlight=False, width=None if sys.stdout.isatty() else 150).print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(list(map(asdict, rows)), indent=2) + "\n")
    if not rows:
        return 2
    return int(not all(row.is_clean for row in rows))


def run(name: str, seconds: float) -> Row:
    """Runs one fault; one after which the service was not well again in time is a row too.

    Raises:
        NoDatabaseError: It needs PostgreSQL, which is not there.
        NoMountError: It needs a disk of its own, which cannot be mounted.
    """
    with TemporaryDirectory(prefix="pinch-chaos-") as directory:
        try:
            return FAULTS[name](Path(directory), seconds)
        except TimeoutError as error:
            return Row(name, {}, is_well=False, note=f"not well again: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS), help="which (all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each fault lasts (60)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--markdown", action="store_true", help="print the table as the documentation has it")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
