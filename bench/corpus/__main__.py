"""``python -m bench.corpus``: the table of all real conversations at several budgets."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.corpus import BUDGETS, FOLDER, Row, conversations, prune, table

_EXAMPLES = """\
examples:
  python -m bench.corpus
  python -m bench.corpus --budget 8000 --budget 100000 --json
  python -m bench.corpus --corpus ~/conversations
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command.

    Returns:
        0; 2 when there is no conversation to prune.
    """
    options = _parser().parse_args(argv)
    budgets = options.budget or list(BUDGETS)
    found = list(conversations(options.corpus))
    if not found:
        print(
            f"error: no conversation (*.openai.json, *.anthropic.json) in {options.corpus}", file=sys.stderr
        )
        return 2
    calls = [(conversation, budget) for conversation in found for budget in budgets]
    console = Console(stderr=True)
    steps = track(calls, "pruning", console=console, transient=True, disable=not console.is_terminal)
    rows = table([prune(conversation, budget) for conversation, budget in steps])
    if options.json:
        print(json.dumps([{**asdict(row), "reduction": round(row.reduction, 4)} for row in rows], indent=2))
    else:
        _show(rows)
    return 0


def _show(rows: Sequence[Row]) -> None:
    shown = Table(
        box=SIMPLE_HEAD, title="conversations pruned, by dialect and budget (tokens)", title_justify="left"
    )
    shown.add_column("dialect")
    for heading in ("budget", "number", "over it", "met", "before", "after", "saved"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        figures = (row.budget, row.conversations, row.over_budget, row.met)
        sizes = (f"{tokens / 1_000:,.0f}k" for tokens in (row.original_tokens, row.final_tokens))
        shown.add_row(str(row.format), *(f"{figure:,}" for figure in figures), *sizes, f"{row.reduction:.1%}")
    console = Console(highlight=False)
    console.print(shown)
    console.print(
        "Tokens are estimates, three characters each. Where a budget is not met, what is left is what people"
    )
    console.print(
        "and the model said, tool definitions, the newest results, and what is not worth an event of its own."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.corpus",
        description="Prune every real conversation to several budgets and print what that saves.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--corpus", type=Path, default=FOLDER, metavar="FOLDER", help="default ../shared/corpus"
    )
    parser.add_argument(
        "--budget", type=int, action="append", metavar="TOKENS", help="may be repeated (10000, 25000, 50000)"
    )
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
