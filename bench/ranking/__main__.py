"""``python -m bench.ranking``: AUC and MRR of each way of ranking over sets of questions."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.ranking.installed import changes, docstrings, names, paraphrases, summaries, windows
from bench.ranking.methods import Methods
from bench.ranking.next_calls import next_calls
from bench.ranking.question import Question, auc, reciprocal_rank
from pinch_server.core.relevance import COSINE_WEIGHT
from pinch_server.embeddings.cache import VectorCache
from pinch_server.embeddings.http import Endpoint, HttpEmbedder
from pinch_server.embeddings.provider import CachedEmbedder
from pinch_server.embeddings.static import MODEL, StaticEmbedder

SETS: Final[Mapping[str, Callable[[int, random.Random], Iterator[Question]]]] = {
    "docstrings": docstrings,
    "windows": windows,
    "names": names,
    "summaries": summaries,
    "changes": changes,
    "paraphrases": paraphrases,
    "next calls": next_calls,
}
GOAL_MEAN: Final = 0.91
GOAL_BEHIND: Final = 0.03
METHODS: Final = ("hybrid", "lexical", "cosine", "random")


@dataclass(frozen=True, slots=True)
class Row:
    """One way of ranking over one set.

    Attributes:
        set: The set's name.
        method: The way of ranking.
        questions: How many questions.
        auc: Mean probability that a relevant candidate ranks above another.
        mrr: Mean of one over the rank of the first relevant candidate.
    """

    set: str
    method: str
    questions: int
    auc: float
    mrr: float


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the bench.

    Returns:
        0; 1 when the hybrid misses its goal.
    """
    options = _parser().parse_args(argv)
    methods = Methods(_embedder(options), b=options.b, weight=options.weight)
    console = Console(stderr=True)
    rows: list[Row] = []
    for name in options.set or SETS:
        questions = list(SETS[name](options.questions, random.Random(options.seed)))
        if not questions:
            print(f"{name}: left out, its data is not on this machine", file=sys.stderr)
            continue
        steps = track(questions, name, console=console, transient=True, disable=not console.is_terminal)
        scored = [(question, methods.scores(question)) for question in steps]
        for method in METHODS:
            pairs = [(scores[method], question.relevant) for question, scores in scored]
            rows.append(
                Row(
                    name,
                    method,
                    len(pairs),
                    mean(auc(*pair) for pair in pairs),
                    mean(reciprocal_rank(*pair) for pair in pairs),
                )
            )
    average, behind = _verdict(rows)
    if options.json:
        print(
            json.dumps(
                {"rows": [asdict(row) for row in rows], "mean_auc": average, "behind": behind}, indent=2
            )
        )
    else:
        _show(rows, average, behind)
    return 0 if average >= GOAL_MEAN and behind <= GOAL_BEHIND else 1


def _verdict(rows: Sequence[Row]) -> tuple[float, float]:
    """The hybrid's mean AUC over the sets, and how far it is under the best single method at worst."""
    aucs = {(row.set, row.method): row.auc for row in rows}
    sets = {row.set for row in rows}
    behind = max(max(aucs[name, "lexical"], aucs[name, "cosine"]) - aucs[name, "hybrid"] for name in sets)
    return mean(aucs[name, "hybrid"] for name in sets), behind


def _show(rows: Sequence[Row], average: float, behind: float) -> None:
    shown = Table(box=SIMPLE_HEAD, title="AUC / MRR by set and way of ranking", title_justify="left")
    shown.add_column("set")
    shown.add_column("questions", justify="right")
    for method in METHODS:
        shown.add_column(method, justify="right", no_wrap=True)
    cells = {(row.set, row.method): f"{row.auc:.3f} / {row.mrr:.3f}" for row in rows}
    for name, count in {row.set: row.questions for row in rows}.items():
        shown.add_row(name, str(count), *(cells[name, method] for method in METHODS))
    by_method = {method: [row for row in rows if row.method == method] for method in METHODS}
    means = [f"{mean(r.auc for r in of):.3f} / {mean(r.mrr for r in of):.3f}" for of in by_method.values()]
    shown.add_section()
    shown.add_row("mean", "", *means)
    console = Console(highlight=False)
    console.print(shown)
    console.print(
        f"hybrid: mean AUC {average:.3f} (goal {GOAL_MEAN}), at worst {behind:.3f} under the best single one"
        f" (goal {GOAL_BEHIND})"
    )


def _embedder(options: argparse.Namespace) -> CachedEmbedder:
    if options.base_url is None:
        return CachedEmbedder(StaticEmbedder(), model=MODEL, cache=VectorCache())
    source = HttpEmbedder(Endpoint(options.base_url, options.model))
    return CachedEmbedder(source, model=options.model, cache=VectorCache())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.ranking", description=__doc__)
    parser.add_argument("--questions", type=int, default=150, help="most of a set (default 150)")
    parser.add_argument(
        "--set", action="append", choices=tuple(SETS), help="only this set; may be given again"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choice of questions (default 1)")
    parser.add_argument("--b", type=float, default=0.75, help="BM25's account of length (default 0.75)")
    parser.add_argument(
        "--weight", type=float, default=COSINE_WEIGHT, help="of the cosine in the blend (default 0.5)"
    )
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint instead of the embedded model")
    parser.add_argument("--model", default="nomic-embed-text", help="the model there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
