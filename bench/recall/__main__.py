"""``python -m bench.recall``: the table of pruners by what survives them."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.recall import by_signals
from bench.recall.fan_out import progress
from bench.recall.measure import BUDGETS, Result, measure_all
from bench.recall.needs import POINTS, Sampled, sample
from bench.recall.page import page
from bench.recall.policies import POLICIES, PolicyError, find_policy
from bench.recall.report import as_json, show
from bench.recall.sessions import CorpusError, Session, load_sessions
from bench.recall.svg import Axis, Curve, line_chart

_QUICK_POINTS = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the yardstick.

    Returns:
        0; 2 when there is no such pruner, no corpus or nothing in it to measure, or a file is not writable.
    """
    options = _parser().parse_args(argv)
    began = time.perf_counter()
    try:
        names = options.policies.split(",") + options.policy + (by_signals.names() if options.signals else [])
        policies = [find_policy(name) for name in names if name]
        sessions = load_sessions(options.corpus)
        points = _sample(sessions, _QUICK_POINTS if options.quick else options.points)
        with progress("conversations", len(points)) as tick:
            results = measure_all(policies, options.budgets, points, jobs=options.jobs, tick=tick)
        seconds = time.perf_counter() - began
        source = str(options.corpus) if options.corpus else f"{len(sessions)} sessions"
        if options.json:
            options.json.write_text(json.dumps(as_json(results, source, seconds), indent=2) + "\n")
        if options.plot:
            options.plot.write_text(plot(results))
        if options.page:
            options.page.write_text(page(results, _described(options.corpus, len(sessions)), _command(argv)))
    except (PolicyError, CorpusError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # A file or a pipe has no width of its own; the tables need this much.
    width = None if sys.stdout.isatty() else 110
    show(Console(highlight=False, width=width), results, source, seconds)
    return 0


def _described(corpus: Path | None, sessions: int) -> str:
    return f"{sessions} sessions of {corpus or 'real coding agents'}"


def _command(argv: Sequence[str] | None) -> str:
    return shlex.join(["python", "-m", "bench.recall", *(sys.argv[1:] if argv is None else argv)])


def _sample(sessions: Sequence[Session], points: int) -> list[Sampled]:
    found = sample(sessions, points)
    if not found:
        raise CorpusError("no conversation is long enough to measure: 30,000 tokens at least")
    return found


def plot(results: Sequence[Result]) -> str:
    """Recall against reduction, one line for each pruner, as SVG."""
    curves = [
        Curve(result.policy, tuple(sorted((row.reduction, row.recall) for row in result.rows)))
        for result in results
    ]
    low = min(0.5, *(row.recall for result in results for row in result.rows))
    return line_chart(
        "What the next message needs and still finds",
        Axis("share of the prefix's tokens removed", 0.0, 1.0, ".0%"),
        Axis("share of needed identifiers that survive", low, 1.0, ".2f"),
        curves,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.recall",
        description=(
            "For each later assistant message of real agent conversations: the identifiers and lines it "
            "takes from earlier tool results and from nowhere else, and the share of them that survives "
            "pruning."
        ),
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="DIR",
        help="request bodies, *.json (default: the real ones, else made)",
    )
    parser.add_argument(
        "--policies",
        default=",".join(POLICIES),
        metavar="A,B",
        help=f"of {', '.join(POLICIES)} (default all)",
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="MODULE:FUNCTION",
        help="a pruner of your own as well: (messages, budget_tokens) -> messages; may be repeated",
    )
    parser.add_argument(
        "--signals",
        action="store_true",
        help="Pinch in the order of named signals as well: all, all but one, each alone",
    )
    parser.add_argument(
        "--budgets", type=_shares, default=BUDGETS, metavar="S,S", help="shares of the prefix (0.25,0.5,0.75)"
    )
    parser.add_argument("--points", type=int, default=POINTS, help=f"per conversation, at most ({POINTS})")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--quick", action="store_true", help="three points of each conversation")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw recall against reduction here")
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="write the page of the docs here")
    return parser


def _shares(text: str) -> tuple[float, ...]:
    shares = tuple(float(part) for part in text.split(","))
    if not all(0 < share < 1 for share in shares):
        raise argparse.ArgumentTypeError("give shares between 0 and 1, such as 0.25,0.5")
    return shares


if __name__ == "__main__":
    raise SystemExit(main())
