"""The page of docs/ that shows what survives pruning: what is measured, the tables, the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bench.recall.measure import Result
from bench.recall.paired import FIGURES, Difference, difference
from bench.recall.report import LIKE_REDUCTIONS

_PAGE: Final = """# What the next message needs, and still finds

![Recall against reduction](recall.svg)

What a pruner removes is worth nothing unless it is what the model no longer needs. This is measured
on {source}: {conversations} conversations of 30,000 tokens or more, {points} points, {line_points}
of them quoting lines.

- **A point** is one later assistant message. What it *needs* are the identifiers in it (six
  characters or more with a separator, a digit or an inner capital: paths, names, ids, numbers) that
  stand in earlier tool results and nowhere in what user, system or assistant said before: it can
  only have them from there.
- **Recall** is the share of them that still stands in the pruned prefix, averaged over points; the
  interval is 95% by conversation.
- **Lines** is the same for whole lines of 25 characters or more of tool results that the message's
  call arguments repeat: what an edit quotes. It keeps the score honest, since a list of identifiers
  does nothing for it.
- **Removed** is the share of the prefix's tokens that is gone. Recall says nothing without it:
  compare at like reduction only.

The baselines trim oldest first and so on until the budget is met, all but the newest four results;
`uniform` is the original (a window of four user turns), `drop-oldest` drops messages, `pinch` is
the service as it ships, `pinch?trim_style=plain` the same with the original's head and tail.

Made by

```
{command}
```

## At budgets of 25%, 50% and 75% of the prefix

| policy | budget | recall | 95% | lines | removed | budget met |
|---|---:|---:|---:|---:|---:|---:|
{measured}
## At like reduction

On straight lines between budgets, from nothing removed and all kept; a dash: never removed as much.
Recall, then lines.

| policy | {shares} |
|---|{rules}
{alike}{paired}"""

_PAIRED: Final = """
## `{name}` against each other, point by point

How far `{name}` is above the other at the same budget, with the 95% interval of the difference,
conversations drawn with replacement: where that holds 0, the difference may be chance. Read the first
two beside the third.

| other | budget | recall | lines | removed |
|---|---:|---:|---:|---:|
{differences}"""


def page(results: Sequence[Result], source: str, command: str) -> str:
    """The page as Markdown.

    Args:
        results: What was measured.
        source: What was measured on, in words.
        command: The command that made it.
    """
    first = results[0].rows[0]
    measured = "".join(
        f"| {_name(result)} | {share:.0%} | {row.recall:.3f} | {row.low:.3f}-{row.high:.3f} | "
        f"{_figure(row.lines)} | {row.reduction:.1%} | {row.budget_met:.0%} |\n"
        for share in [row.budget_share for row in results[0].rows]
        for result, row in ((result, result.at(share)) for result in results)
    )
    alike = "".join(
        f"| {_name(result)} | {' | '.join(_pair(result, share) for share in LIKE_REDUCTIONS)} |\n"
        for result in results
    )
    return _PAGE.format(
        source=source,
        conversations=first.conversations,
        points=first.points,
        line_points=first.line_points,
        command=command,
        measured=measured,
        shares=" | ".join(f"{share:.0%} removed" for share in LIKE_REDUCTIONS),
        rules="---:|" * len(LIKE_REDUCTIONS),
        alike=alike,
        paired=_paired(results),
    )


def _paired(results: Sequence[Result]) -> str:
    """The shipped pruner, or else the first, against every other; nothing where there is no other."""
    one = next((result for result in results if result.policy == "pinch"), results[0])
    others = [result for result in results if result is not one]
    if not others:
        return ""
    differences = "".join(
        f"| {_name(other)} | {row.budget_share:.0%} | "
        + " | ".join(_signed(difference(one, other, row.budget_share, figure)) for figure in FIGURES.values())
        + " |\n"
        for row in one.rows
        for other in others
    )
    return _PAIRED.format(name=one.policy, differences=differences)


def _signed(found: Difference | None) -> str:
    return "-" if found is None else f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f})"


def _name(result: Result) -> str:
    return f"`{result.policy}`"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _pair(result: Result, share: float) -> str:
    figures: tuple[Callable[[float], float | None], ...] = (result.recall_at, result.lines_at)
    return " / ".join(_figure(at(share)) for at in figures)
