"""``python -m bench.extract``: acceptance, removed shares and the gate over real conversations."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter as Tallied
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.corpus import FOLDER, Conversation, conversations
from bench.extract.measure import Arm, Filtered, arms, elided_results, filtered
from bench.extract.scripted import ScriptedModel
from pinch_server.core.counting import COUNTERS
from pinch_server.extract.chosen import options_of
from pinch_server.extract.prompts.context import ContextMode
from pinch_server.extract.sandbox import Sandbox
from pinch_server.extract.writing import FilterWriter
from pinch_server.settings import ExtractSettings

_ARMS = {
    "ungated": "nobody",
    "gate": "the gate",
    "told": "the gate, told the calls to come",
    "excerpt": "the gate, against excerpts",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, and prints tables or JSON; status 1 where there is nothing to measure."""
    options = _parser().parse_args(argv)
    console = Console(stderr=options.json)
    sessions = list(conversations(options.corpus))[:: options.every]
    found = measure(sessions, options.budget, console)
    if not found:
        print(f"no session of {options.corpus} elides a result", file=sys.stderr)
        return 1
    decided = list(arms(found))
    if options.json:
        print(json.dumps(as_json(found, decided)))
    else:
        show(console, found, decided)
    return 0


def measure(sessions: Sequence[Conversation], budget_share: float, console: Console) -> list[Filtered]:
    """Filters every result that the sessions elide.

    Args:
        sessions: The conversations.
        budget_share: Their budgets as a share of their sizes.
        console: Where the progress is shown.
    """
    counter = COUNTERS["o200k"]
    settings = ExtractSettings()
    found: list[Filtered] = []
    with closing(Sandbox()) as sandbox:
        sandbox.start()
        writer = FilterWriter(
            ScriptedModel(),
            sandbox,
            counter,
            options_of(settings),
            ContextMode(settings.context),
            settings.context_messages,
        )
        for session in track(sessions, "sessions", console=console, transient=True):
            results = elided_results(session, budget_share, COUNTERS["chars3"])
            found.extend(filtered(results, writer, counter))
    return found


def as_json(found: Sequence[Filtered], decided: Sequence[Arm]) -> dict[str, Any]:
    """All figures, for scripts."""
    outcomes = Tallied(one.outcome for one in found)
    needed = [(one.kept, one.elision_kept) for one in found if one.is_sent and one.kept is not None]
    return {
        "results": len(found),
        "sent": sum(one.is_sent for one in found),
        "outcomes": dict(outcomes.most_common()),
        "classes": [_class_row(name, rows) for name, rows in _by_class(found)],
        "identifiers_kept": fmean(kept or 0.0 for kept, _ in needed) if needed else None,
        "identifiers_kept_by_elision": fmean(kept or 0.0 for _, kept in needed) if needed else None,
        "arms": [asdict(arm) for arm in decided],
    }


def show(console: Console, found: Sequence[Filtered], decided: Sequence[Arm]) -> None:
    """The figures as tables."""
    told = as_json(found, decided)
    console.print(f"{told['results']} results that are elided; {told['sent']} are sent extracted instead")
    table = Table("what came of the filters", "results", title="Acceptance")
    for name, count in told["outcomes"].items():
        table.add_row(name, str(count))
    console.print(table)
    table = Table("class", "results", "accepted", "removed", "sent", title="By class")
    for row in told["classes"]:
        table.add_row(
            row["class"],
            str(row["results"]),
            f"{row['accepted']:.0%}",
            f"{row['removed']:.1%}",
            f"{row['sent']:.0%}",
        )
    console.print(table)
    table = Table("cache", "decided by", "calls", "sent", "cost $", "net of elision $", "net of whole $")
    for arm in decided:
        table.add_row(
            arm.regime,
            _ARMS[arm.name],
            str(arm.calls),
            str(arm.sent),
            f"{arm.cost_usd:.3f}",
            f"{arm.beyond_elision_usd - arm.cost_usd:+.3f}",
            f"{arm.beyond_whole_usd - arm.cost_usd:+.3f}",
        )
    console.print(table)
    if told["identifiers_kept"] is not None:
        console.print(
            f"identifiers named later that survive an extraction: {told['identifiers_kept']:.1%},"
            f" the elision in its place: {told['identifiers_kept_by_elision']:.1%}"
        )


def _by_class(found: Sequence[Filtered]) -> list[tuple[str, list[Filtered]]]:
    ordered = sorted(found, key=lambda one: one.content_class)
    return [(name, list(rows)) for name, rows in groupby(ordered, lambda one: one.content_class)]


def _class_row(name: str, rows: Sequence[Filtered]) -> dict[str, Any]:
    tokens = sum(one.elided.tokens for one in rows)
    left = sum(one.projected_tokens for one in rows)
    return {
        "class": name,
        "results": len(rows),
        "accepted": sum(one.outcome == "accepted" for one in rows) / len(rows),
        "removed": 1 - left / tokens if tokens else 0.0,
        "sent": sum(one.is_sent for one in rows) / len(rows),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.extract", description=__doc__)
    parser.add_argument("--corpus", type=Path, default=FOLDER, help="folder of conversations")
    parser.add_argument("--budget", type=float, default=0.5, help="budget as a share of each session's size")
    parser.add_argument("--every", type=int, default=1, help="take each so-manieth session")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
