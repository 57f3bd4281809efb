"""The figures as tables: for a terminal, and for docs/performance.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.box import MARKDOWN, SIMPLE_HEAD, Box
from rich.console import Console
from rich.table import Table

from bench.latency.goals import is_p99_missed, is_planning_missed, is_rate_missed, is_ratio_missed, lone
from bench.latency.load import Beside, Saturation
from bench.latency.pairs import Times
from bench.latency.ranked import RankedCall
from bench.latency.ratios import Ratio
from bench.latency.real import RealCall
from bench.latency.stages import STAGES, Stages

_TIMES: Final = ("echo p50", "p50", "p99", "x echo")
_WORDS: Final = ("form", "reply", "server", "session", "vectors", "conversation", "dialect")


def machine() -> str:
    """The machine in one line: figures in milliseconds mean nothing without it."""
    names = [
        line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")
    ]
    memory = next((int(line.split()[1]) // 2**20 for line in _lines("/proc/meminfo")), 0)
    processor = names[0] if names else platform.processor()
    return (
        f"{os.cpu_count()} x {processor}, {memory} GiB, Linux {platform.release().partition('-')[0]}, "
        f"Python {platform.python_version()}; caller, echo and server share it"
    )


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def tables(
    ratios: Sequence[Ratio],
    parts: Sequence[Stages],
    loads: Sequence[Saturation],
    besides: Sequence[Beside],
    resident: Sequence[float],
    two: Sequence[Ratio] = (),
    ranking: Sequence[RankedCall] = (),
    corpus: Sequence[RealCall] = (),
) -> list[Table]:
    """One table for each kind of figure that was taken."""
    made = []
    if ratios:
        made.append(_ratios("One call at a time, beside a raw gRPC echo of the same bytes (ms)", ratios))
    if two:
        made.append(_ratios("One call at a time, to two workers in turn, beside the echo (ms)", two))
    if ranking:
        made.append(_ranking(ranking))
    if corpus:
        made.append(_corpus(corpus))
    if parts:
        made.append(_parts(parts))
    if loads:
        made.append(_loads(loads))
    if besides:
        made.append(_besides(besides))
    if resident:
        made.append(_resident(resident))
    return made


def show(console: Console, some: Sequence[Table], *, as_markdown: bool = False) -> None:
    """Prints tables."""
    for table in some:
        table.box = MARKDOWN if as_markdown else SIMPLE_HEAD
        if as_markdown:
            console.print(f"\n{table.title}\n")
            table.title = None
        console.print(table)


def _ratios(title: str, ratios: Sequence[Ratio]) -> Table:
    table = _table(title, ("tokens", "form", "reply", "session", "ranking", *_TIMES, "goal", "ships"))
    for one in ratios:
        case = one.case
        table.add_row(
            f"{one.tokens:,}",
            case.form,
            case.reply,
            case.history,
            "each call" if case.ranked else "replay",
            *_times(one.times, is_missed=is_ratio_missed(one)),
            "" if one.goal is None else f"<= {one.goal}",
            f"{one.shipped_tokens:,}",
        )
    return table


def _ranking(ranking: Sequence[RankedCall]) -> Table:
    table = _table(
        "Each call decided anew: what ranking by embeddings adds (ms; body form, edits as the reply)",
        ("tokens", "session", "vectors", *_TIMES, "calls", "candidates", "vectors made", "known"),
    )
    for one in ranking:
        is_off = one.case.vectors == "off"
        table.add_row(
            f"{one.tokens:,}",
            one.case.history,
            one.case.vectors,
            *_times(one.times),
            str(one.times.calls),
            str(one.candidates),
            "" if is_off else f"{one.made:.1f}",
            "" if is_off else f"{one.known:.1f}",
        )
    return table


def _corpus(corpus: Sequence[RealCall]) -> Table:
    table = _table(
        "The longest real conversations, their next calls, beside the echo (ms; body form)",
        ("conversation", "dialect", "tokens", "reply", *_TIMES, "calls", "ships"),
    )
    for one in corpus:
        table.add_row(
            one.conversation,
            one.dialect,
            f"{one.tokens:,}",
            one.reply,
            *_times(one.times),
            str(one.times.calls),
            f"{one.shipped_tokens:,}",
        )
    return table


def _times(times: Times, *, is_missed: bool = False) -> tuple[str, ...]:
    figures = (times.echo_p50, times.p50, times.p99)
    return (*(f"{figure:.2f}" for figure in figures), f"{times.ratio:.2f}{_mark(is_missed)}")


def _parts(parts: Sequence[Stages]) -> Table:
    table = _table(
        "Where a session's next call goes (ms; body form, edits as the reply, one caller)",
        ("tokens", "caller waits", "handling", *STAGES, "rest of handling"),
    )
    for one in parts:
        rest = one.handling_ms - sum(one.stages_ms.values())
        figures = (one.seen_ms, one.handling_ms, *(one.stages_ms[stage] for stage in STAGES), rest)
        table.add_row(f"{one.tokens:,}", *(f"{figure:.3f}" for figure in figures))
    return table


def _loads(loads: Sequence[Saturation]) -> Table:
    table = _table(
        "Always another call; busy: processors in use, of all that there are",
        (
            "tokens",
            "callers",
            "server",
            "calls/s",
            "x one worker",
            "CPU ms a call",
            "caller's",
            "busy",
            "planning",
        ),
    )
    for one in loads:
        alone = lone(one, loads)
        against = f"{one.calls_per_second / alone.calls_per_second:.2f}" if alone else ""
        table.add_row(
            f"{one.tokens:,}",
            str(one.callers),
            one.server,
            f"{one.calls_per_second:.0f}",
            against + _mark(is_rate_missed(one, loads)),
            f"{one.cpu_ms:.2f}",
            f"{one.caller_ms:.2f}",
            f"{one.calls_per_second * (one.cpu_ms + one.caller_ms) / 1e3:.1f}",
            "" if one.planning is None else f"{one.planning:.0%}{_mark(is_planning_missed(one))}",
        )
    return table


def _besides(besides: Sequence[Beside]) -> Table:
    table = _table(
        "Calls of 3,000 tokens beside a stream of calls of a million (ms)",
        ("server", "calls", "p50", "p99", "p99 x one worker"),
    )
    for one in besides:
        against = f"{one.p99 / besides[0].p99:.2f}{_mark(is_p99_missed(one, besides))}"
        table.add_row(one.server, str(one.calls), f"{one.p50:.2f}", f"{one.p99:.2f}", against)
    return table


def _resident(resident: Sequence[float]) -> Table:
    table = _table(
        "Memory held while calls of 50,000 tokens go by (MiB)", [f"{tenth}0%" for tenth in range(1, 11)]
    )
    table.add_row(*(f"{mib:.0f}" for mib in resident))
    return table


def _mark(is_missed: bool) -> str:
    return " (missed)" if is_missed else ""


def _table(title: str, columns: Sequence[str], box: Box = SIMPLE_HEAD) -> Table:
    table = Table(title=title, box=box)
    for name in columns:
        table.add_column(name, justify="left" if name in _WORDS else "right")
    return table
