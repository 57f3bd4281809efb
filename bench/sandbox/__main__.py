"""``python -m bench.sandbox``: how each bomb ends in the sandbox and when, and what honest work costs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.sandbox.bombs import BOMBS, Bomb
from pinch_server.extract.program import Ran
from pinch_server.extract.sandbox import Sandbox, SandboxError

_GOAL_MS = 30.0
"""Within which a megabyte is to be filtered (milliseconds)."""
_RUNS = 40
_AFTERWARDS = "OUTPUT = INPUT[:2]"
_FILTER = """\
out = []
for line in INPUT.split("\\n"):
    if "ERROR" in line or "line 1" in line:
        out.append(line)
OUTPUT = "\\n".join(out)
"""


@dataclass(frozen=True, slots=True)
class Exploded:
    """How one bomb ended.

    Attributes:
        name: The bomb.
        outcome: Its fault's slug, or `ran`.
        ms: How long it took (milliseconds).
        is_as_expected: Whether it ended in a way that it may.
        works_afterwards: Whether the next program ran.
    """

    name: str
    outcome: str
    ms: float
    is_as_expected: bool
    works_afterwards: bool


@dataclass(frozen=True, slots=True)
class Work:
    """What an honest filter costs.

    Attributes:
        name: What it filters.
        chars: The length of it (characters).
        ms: The least of several runs (milliseconds).
    """

    name: str
    chars: int
    ms: float


def explode(sandbox: Sandbox, bomb: Bomb) -> Exploded:
    """Runs one bomb, then a harmless program."""
    began = time.perf_counter()
    result = sandbox.run(bomb.program, bomb.text)
    ms = 1_000 * (time.perf_counter() - began)
    outcome = "ran" if isinstance(result, Ran) else result.slug
    as_expected = not bomb.ends if isinstance(result, Ran) else result.kind in bomb.ends
    works = sandbox.run(_AFTERWARDS, "okay") == Ran("ok", "")
    return Exploded(bomb.name, outcome, round(ms, 1), as_expected, works)


def work(sandbox: Sandbox) -> list[Work]:
    """Filters a log of a megabyte, and one of a kilobyte."""
    log = "\n".join(f"2026-01-01T10:00:00Z line {i} INFO worker-7 did its work" for i in range(17_800))
    rows = []
    for name, text in (("1 MB of log", log), ("1 kB of log", log[:1_000])):
        least = float("inf")
        for _ in range(_RUNS):
            began = time.perf_counter()
            result = sandbox.run(_FILTER, text)
            least = min(least, time.perf_counter() - began)
            if not isinstance(result, Ran):
                raise SandboxError(f"the filter did not run: {result.slug}")
        rows.append(Work(name, len(text), round(1_000 * least, 1)))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the bombs.

    Returns:
        0 when each ended as it may and left the sandbox working, and a megabyte took less than the goal;
        1 when not; 2 when the sandbox does not work at all.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.sandbox", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the figures as JSON on standard output")
    options = parser.parse_args(argv)
    with closing(Sandbox()) as sandbox:
        try:
            sandbox.start()
            quiet = Console(stderr=True)
            bombs = [explode(sandbox, bomb) for bomb in track(BOMBS, "bombs", console=quiet, transient=True)]
            works = work(sandbox)
        except SandboxError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    if options.json:
        print(json.dumps({"bombs": list(map(asdict, bombs)), "work": list(map(asdict, works))}, indent=2))
    else:
        show(bombs, works)
    is_fast = works[0].ms < _GOAL_MS
    return 0 if is_fast and all(row.is_as_expected and row.works_afterwards for row in bombs) else 1


def show(bombs: Sequence[Exploded], works: Sequence[Work]) -> None:
    """Prints both tables."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    table = Table("bomb", "how it ended", "ms", "as it may", "works after")
    table.columns[2].justify = "right"
    for row in bombs:
        marks = ("yes" if row.is_as_expected else "NO", "yes" if row.works_afterwards else "NO")
        table.add_row(row.name, row.outcome[:44], f"{row.ms:,.0f}", *marks)
    console.print(table)
    table = Table("honest work", "characters", f"ms (least of {_RUNS})", f"goal {_GOAL_MS:.0f} ms")
    for cost in works:
        table.add_row(
            cost.name, f"{cost.chars:,}", f"{cost.ms:.1f}", "met" if cost.ms < _GOAL_MS else "MISSED"
        )
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
