"""Every real conversation through the five dialects' readers and the plan: what is saved, and what is met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pinch_server.core.counting import Chars3
from pinch_server.core.event import oldest_first
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Stats
from pinch_server.core.planning import plan_pruning
from pinch_server.formats.body import byte_edits, read_body
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import ByteEdit, splice

FOLDER: Final = Path(__file__).parents[3] / "shared" / "corpus"
"""Where the conversations lie, beside the project; they are read in place and never copied."""
SHIPPED: Final = Limits()
BUDGETS: Final = (10_000, 25_000, 50_000)
"""The budgets a conversation is pruned to when none are named (tokens)."""
_FORMATS: Final = {"openai": Format.OPENAI_CHAT, "anthropic": Format.ANTHROPIC}


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of the corpus.

    Attributes:
        name: The name of its file.
        format: The dialect it is in.
        body: Its bytes.
    """

    name: str
    format: Format
    body: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """One conversation pruned to one budget.

    Attributes:
        conversation: Which.
        budget: The budget (tokens).
        body: The bytes that ship.
        edits: The byte ranges that made them.
        stats: The numbers of the plan.
    """

    conversation: Conversation
    budget: int
    body: bytes
    edits: tuple[ByteEdit, ...]
    stats: Stats


def conversations(folder: Path = FOLDER) -> Iterator[Conversation]:
    """All conversations of a folder by name; none when it is absent.

    A file is named `NAME.FORM.json`, where FORM is `openai` or `anthropic`.
    """
    for place in sorted(folder.glob("*.*.json")):
        dialect = _FORMATS.get(place.name.rsplit(".", 2)[1])
        if dialect is not None:
            yield Conversation(place.name, dialect, place.read_bytes())


def prune(conversation: Conversation, budget: int, limits: Limits = SHIPPED) -> Outcome:
    """Prunes one conversation to a budget (tokens), under limits that are those shipped unless told."""
    reading = read_body(conversation.body, conversation.format)
    chosen = replace(limits, budget_tokens=budget)
    plan = plan_pruning(reading.conversation, chosen, Chars3(), order=oldest_first)
    edits = tuple(edit for _, edit in byte_edits(reading, plan.edits))
    return Outcome(conversation, budget, splice(conversation.body, edits), edits, plan.stats)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        format: The dialect.
        budget: The budget (tokens).
        conversations: How many were pruned.
        over_budget: How many of them were over the budget as they came.
        met: How many ship within it.
        original_tokens: What they came with in all (tokens).
        final_tokens: What they ship with in all (tokens).
    """

    format: Format
    budget: int
    conversations: int
    over_budget: int
    met: int
    original_tokens: int
    final_tokens: int

    @property
    def reduction(self) -> float:
        """The share of all tokens that is gone."""
        return 1 - self.final_tokens / self.original_tokens if self.original_tokens else 0.0


def table(outcomes: Sequence[Outcome]) -> list[Row]:
    """The outcomes by dialect and budget."""
    keys = sorted({(outcome.conversation.format, outcome.budget) for outcome in outcomes})
    rows = []
    for dialect, budget in keys:
        stats = [o.stats for o in outcomes if (o.conversation.format, o.budget) == (dialect, budget)]
        rows.append(
            Row(
                format=dialect,
                budget=budget,
                conversations=len(stats),
                over_budget=sum(s.original_tokens > budget for s in stats),
                met=sum(s.budget_met for s in stats),
                original_tokens=sum(s.original_tokens for s in stats),
                final_tokens=sum(s.final_tokens for s in stats),
            )
        )
    return rows
