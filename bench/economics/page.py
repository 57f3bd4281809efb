"""The page of docs/ that shows what pruning does to a session's price."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Final

from bench.economics.losses import Loss
from bench.economics.measure import CLASSES, Row
from bench.economics.policies import UNPRUNED

_WIDTH: Final = 120
"""Of a line of text (characters)."""
_PAGE: Final = """# What pruning does to the price of a session

![Input price of each call of one session](economics.svg)

A provider's prompt cache gives back the start of a prompt that it has seen, at a fraction of the
price, up to the first byte that differs. So a pruner that moves that byte about can cost more than
it saves. Here {source} are replayed call by call, budget {budget} tokens, through such a cache:
what a call shares with the one before is read from it, the rest is written to it; {pauses}. Dollars
are of the input alone, at the prices of `genai-prices`.

- **$** against no pruning: pooled over the sessions of the class, then the mean of each one's
  change.
- **25% under**: sessions at least a quarter cheaper. **over**: sessions more than a tenth dearer.
  **worst**: the dearest.
- **tokens** shipped against no pruning. **extend**: consecutive calls that begin with the whole
  call before, byte for byte. **events**: those that do not, a session. **peak**: the largest call.

`uniform` is the original as it stood; `per-call-cosine`, `per-call-hybrid` and `per-call-lexical`
rank anew at each call, which was its idea; `oldest-first` keeps a fixed window of four results and
`clear-all-but-3` the newest three, as other tools do; `read-once` leaves nothing of what the model
has read, which no pruner beats that lets it read once. `pinch` is the service as it ships,
`replay-50%` the same with its low-water mark there, and `pinch-…` with one option on: `economic`
the trigger (20 calls expected), `cap` outsized results capped on arrival, `ledger` a loss of 2% at
most.

Made by

```
{command}
```
{tables}
## Sessions where `pinch` loses, or gains little, and why

At {rates}-class prices: every session that became dearer, and those over 100,000 tokens that became
less than a quarter cheaper. `read-once` says what was to be had at all. No history foresees its
end, and an event pays back only over the calls that follow it.

| class | calls | change | `read-once` | why |
|---|---:|---:|---:|---|
{losses}"""
_HEAD: Final = (
    "| policy | $ pooled | $ mean | 25% under | over | worst | tokens | extend | events | peak |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
)


def page(
    rows: Sequence[Row], found: Sequence[Loss], source: str, budget_tokens: int, pauses: str, command: str
) -> str:
    """The page as Markdown.

    Args:
        rows: What was measured.
        found: The sessions that gained too little, at the prices of the first row.
        source: What was measured on, in words.
        budget_tokens: The budget (tokens).
        pauses: Whether caches expire, in words.
        command: The command that made it.
    """
    tables = ""
    for rates in dict.fromkeys(row.rates for row in rows):
        for _, _, size_class in reversed(CLASSES):
            group = [row for row in rows if row.rates == rates and row.size_class == size_class]
            if group:
                tables += f"\n## {rates}-class, {group[0].sessions} sessions {_words(size_class)}\n\n"
                tables += _table(group)
    return _PAGE.format(
        source=source,
        budget=f"{budget_tokens:,}",
        pauses=pauses,
        command=command,
        tables=tables,
        rates=rows[0].rates,
        losses="".join(map(_loss, found)),
    )


def _table(group: Sequence[Row]) -> str:
    """The rows of those that change anything, and which do not."""
    idle = [f"`{row.policy}`" for row in group if row.tokens == 1.0]
    told = [row for row in group if row.tokens != 1.0 or row.policy == UNPRUNED.name]
    rest = [name for name in idle if name != f"`{UNPRUNED.name}`"]
    told_same = fill(f"Shipped as they came by {', '.join(rest)}.", _WIDTH, break_on_hyphens=False)
    same = f"\n{told_same}\n" if rest else ""
    return _HEAD + "".join(map(_row, told)) + same


def _words(size_class: str) -> str:
    return {"<50k": "under 50,000 tokens", "50-100k": "of 50,000 to 100,000", ">100k": "over 100,000"}[
        size_class
    ]


def _row(row: Row) -> str:
    dollars = f"{row.pooled:+.0%} | {row.mean:+.0%}"
    sessions = f"{row.well_under * row.sessions:.0f} | {row.over} | {row.worst:+.0%}"
    calls = f"{row.tokens:.0%} | {row.extends:.3f} | {row.events:.1f} | {row.peak:,}"
    return f"| `{row.policy}` | {dollars} | {sessions} | {calls} |\n"


def _loss(loss: Loss) -> str:
    attainable = "-" if loss.attainable is None else f"{loss.attainable:+.0%}"
    return f"| {_words(loss.size_class)} | {loss.calls} | {loss.change:+.1%} | {attainable} | {loss.why} |\n"
