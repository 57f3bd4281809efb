"""``python -m bench.latency``: what a call costs beside a raw gRPC echo of the same bytes.

Starts an echo and the service on loopback with the journal on, calls them in turn, and prints ratios. Every
session grows from call to call, as an agent's does; `cold` is one that the service has not seen before. Each
service is called for some seconds first, until it has brought in what it needs. It ends with 1 where a goal
is missed; the tables say which.

parts:
  ratios   one call at a time, each form and reply, one worker
  two      a session's next calls to two workers, which get them in turn
  ranking  what ranking by embeddings adds to calls that are decided anew
  corpus   the longest real conversations, where there are some
  stages   where a call's time goes
  load     calls a second when there is always another call
  beside   small calls beside a stream of big ones
  memory   what a worker holds after many calls
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.corpus import FOLDER, Conversation, conversations
from bench.latency import ranked, ratios, real
from bench.latency.goals import ONE, TWO, is_any_missed
from bench.latency.load import Beside, Saturation, beside, resident_after, saturate, warm
from bench.latency.report import machine, show, tables
from bench.latency.servers import ALLOCATOR, Measured, echo_server, pinch_server
from bench.latency.stages import stages

_PARTS: Final = ("ratios", "two", "ranking", "corpus", "stages", "load", "beside", "memory")
_FIGURES: Final = ("ratios", "two", "ranking", "corpus", "parts", "loads", "besides", "resident")
_CALLERS: Final = {3_000: 16, 50_000: 16, 324_000: 8, 1_000_000: 4}
_EXAMPLES: Final = """\
examples:
  python -m bench.latency
  python -m bench.latency --parts ratios --sizes 3000,50000 --steps 40
  python -m bench.latency --parts two,ranking,corpus
  python -m bench.latency --json latency.json --markdown latency.md
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the yardstick.

    Returns:
        0; 1 when a goal is missed; 2 for a bad argument, or where calls were not ranked as asked.
    """
    options = _parser().parse_args(argv)
    if any(os.environ.get(name) != value for name, value in ALLOCATOR.items()):
        # The caller's allocator is read when a process starts, and a default one would be half the figure.
        arguments = list(sys.argv[1:] if argv is None else argv)
        command = [sys.executable, "-m", "bench.latency", *arguments]
        os.execve(sys.executable, command, os.environ | ALLOCATOR)  # noqa: S606 it is this very program
    chats = _conversations(options.corpus) if "corpus" in options.parts else []
    steps = (
        (len(options.sizes) * len(ratios.CASES) if "ratios" in options.parts else 0)
        + (len(options.sizes) * len(ratios.NEXT) if "two" in options.parts else 0)
        + (len(options.ranked_sizes) * len(ranked.CASES) if "ranking" in options.parts else 0)
        + len(chats) * len(real.FORMS)
        + (len(options.sizes) if "stages" in options.parts else 0)
        + (len(options.sizes) * 3 if "load" in options.parts else 0)
        + (2 if "beside" in options.parts else 0)
        + (10 if "memory" in options.parts else 0)
    )
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=sys.stderr)) as progress:
        task = progress.add_task("measuring", total=steps)
        try:
            figures = _measure(options, chats, lambda: progress.advance(task))
        except ranked.NotRankedError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 130)
    console.print(machine())
    show(console, tables(**figures))
    if options.json:
        plain = {name: [_plain(one) for one in some] for name, some in figures.items()}
        options.json.write_text(json.dumps({"machine": machine(), **plain}, indent=2) + "\n")
    if options.markdown:
        with options.markdown.open("w") as file:
            page = Console(file=file, width=200, highlight=False)
            page.print(machine())
            show(page, tables(**figures), as_markdown=True)
    return int(is_any_missed(figures))


def _conversations(folder: Path) -> list[Conversation]:
    chats = real.longest(conversations(folder))
    if not chats:
        print(
            f"corpus: left out, no conversation (*.openai.json, *.anthropic.json) in {folder}",
            file=sys.stderr,
        )
    return chats


def _measure(options: argparse.Namespace, chats: list[Conversation], done: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in _FIGURES}
    with ExitStack() as stack:
        echo = stack.enter_context(echo_server())
        one = stack.enter_context(pinch_server("--workers", "1"))
        two = stack.enter_context(pinch_server("--workers", "2"))
        for server in (one, two):
            warm(server, options.warm_seconds)
        if "ratios" in options.parts:
            found["ratios"] = list(ratios.measure(echo, one, options.sizes, options.steps, done))
        if "two" in options.parts:
            found["two"] = list(ratios.measure(echo, two, options.sizes, options.steps, done, ratios.NEXT))
        if "ranking" in options.parts:
            # A service of its own: its vectors are not to weigh in what memory is measured later.
            with pinch_server("--workers", "1") as ranking:
                found["ranking"] = list(
                    ranked.measure(echo, ranking, options.ranked_sizes, options.steps, done)
                )
        if chats:
            found["corpus"] = list(real.measure(echo, one, chats, options.steps, done))
        for tokens in options.sizes if "stages" in options.parts else ():
            found["parts"].append(stages(one, tokens, options.steps))
            done()
        servers = {"echo": echo, ONE: one, TWO: two}
        if "load" in options.parts:
            found["loads"] = _loads(options, servers, done)
        if "beside" in options.parts:
            for name in (ONE, TWO):
                small: Beside = beside(name, servers[name], options.small_calls)
                found["besides"].append(small)
                done()
        if "memory" in options.parts:
            # Likewise: what larger sessions left here is not to hide what these calls add.
            with pinch_server("--workers", "1") as fresh:
                found["resident"] = resident_after(fresh, options.memory_calls, 8, done)
    return found


def _loads(options: argparse.Namespace, servers: dict[str, Measured], done: Any) -> list[Saturation]:
    found: list[Saturation] = []
    for tokens in options.sizes:
        for name, measured in servers.items():
            found.append(saturate(name, measured, tokens, _CALLERS.get(tokens, 8), options.seconds))
            done()
    return found


def _plain(figure: Any) -> Any:
    return figure if isinstance(figure, float) else asdict(figure)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(one) for one in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: give numbers of tokens divided by commas") from None
    if min(sizes) < 3_000:
        raise argparse.ArgumentTypeError(f"{min(sizes)}: a session has at least 3000 tokens")
    return sizes


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(text.split(","))
    for part in parts:
        if part not in _PARTS:
            raise argparse.ArgumentTypeError(f"{part!r}: give some of {', '.join(_PARTS)}")
    return parts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.latency",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--parts", type=_parts, default=_PARTS, help=f"some of {','.join(_PARTS)} (all)")
    parser.add_argument(
        "--sizes", type=_sizes, default=ratios.SIZES, help="tokens (3000,50000,324000,1000000)"
    )
    parser.add_argument(
        "--ranked-sizes",
        type=_sizes,
        default=ranked.SIZES,
        help="tokens in the part ranking (50000,324000,1000000)",
    )
    parser.add_argument(
        "--corpus", type=Path, default=FOLDER, metavar="DIR", help="a folder of bodies (../shared/corpus)"
    )
    parser.add_argument("--steps", type=int, default=20, help="calls timed of each case and size (20)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load (4)")
    parser.add_argument("--warm-seconds", type=float, default=8.0, help="of calls before the first timed (8)")
    parser.add_argument("--small-calls", type=int, default=2_000, help="beside the big stream (2000)")
    parser.add_argument("--memory-calls", type=int, default=10_000, help="while memory is watched (10000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
