"""Pinch itself under the yardstick: its planner, on messages of either shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cache, partial
from itertools import groupby
from typing import Any, Final

from bench.recall.bm25 import bm25
from bench.recall.shapes import Json, call_points, core_messages, dialect_of
from pinch_server.clock import SystemClock
from pinch_server.core.conversation import Conversation, ImagePart, Message
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import DraftResult
from pinch_server.core.event import Order, Ranked, oldest_first, uniform
from pinch_server.core.history import plan_history
from pinch_server.core.limits import ORIGINAL, Limits, Stability, limit_violations
from pinch_server.core.plan import Edit, Ranking
from pinch_server.core.planning import plan_pruning
from pinch_server.core.scoring import Scoring
from pinch_server.core.tally import Tally
from pinch_server.decide import Patience, Ranker, RankingPolicy
from pinch_server.embeddings.cache import VectorCache
from pinch_server.embeddings.provider import CachedEmbedder
from pinch_server.embeddings.static import MODEL, StaticEmbedder

LimitsOf = Callable[[int, int], Limits]
"""The limits for a budget and for what ships beside the messages (tokens)."""


@dataclass(frozen=True, slots=True)
class Pinch:
    """The product's planner as a pruner.

    Attributes:
        limits_of: The limits it plans under.
        order_of: How it ranks the candidates of a conversation; None: as the product does by itself.
    """

    limits_of: LimitsOf
    order_of: Callable[[Sequence[Message]], Order] | None = None

    def __call__(self, messages: list[Json], budget_tokens: int, fixed_tokens: int = 0) -> list[Json]:
        """Prunes one prefix."""
        read = core_messages(messages, dialect_of(messages))
        return self._pruned(messages, read, self.limits_of(budget_tokens, fixed_tokens))

    def plan_all(self, messages: list[Json], budget_tokens: int, fixed_tokens: int = 0) -> list[list[Json]]:
        """Prunes every prefix that ends at a call point; the history is read once."""
        read = core_messages(messages, dialect_of(messages))
        limits = self.limits_of(budget_tokens, fixed_tokens)
        ends = call_points(messages)
        if limits.stability is not Stability.REPLAY:
            return [self._pruned(messages[:end], read[:end], limits) for end in ends]
        order = uniform if self.order_of is None else self.order_of(read)
        payload = _Payload(messages)
        shipped = []
        for plan in plan_history(Conversation(read), limits, Chars3(), order=order):
            payload.apply(plan.edits)
            if plan.end in ends:
                shipped.append(payload.before(plan.end))
        return shipped

    def _pruned(self, messages: list[Json], read: tuple[Message, ...], limits: Limits) -> list[Json]:
        order = uniform if self.order_of is None else self.order_of(read)
        plan = plan_pruning(Conversation(read), limits, Chars3(), order=order)
        return apply_edits(messages, plan.edits)


@dataclass(slots=True)
class _Payload:
    """A history as it ships, call after call; a message that is edited as before stays the same object."""

    messages: list[Json]
    _edited: dict[int, tuple[tuple[str, ...], Json]] = field(default_factory=dict)

    def apply(self, edits: Sequence[Edit]) -> None:
        """Puts all edits of one call in their places."""
        for index, group in groupby(edits, key=lambda edit: edit.message):
            ours = list(group)
            texts = tuple(edit.new for edit in ours)
            known = self._edited.get(index)
            if known is None or known[0] != texts:
                self._edited[index] = texts, apply_edits(self.messages[: index + 1], ours)[index]

    def before(self, end: int) -> list[Json]:
        """What ships of the messages before `end`."""
        return [
            self._edited[index][1] if index in self._edited else message
            for index, message in enumerate(self.messages[:end])
        ]


def apply_edits(messages: list[Json], edits: Sequence[Edit]) -> list[Json]:
    """The messages with every edit in its place; those without an edit are the same objects."""
    output: list[Any] = list(messages)
    for edit in edits:
        if edit.old.address is not None:
            index, where = int(edit.old.address[1]), edit.old.address[2:]
            new = {"type": "text", "text": edit.new} if isinstance(edit.old, ImagePart) else edit.new
            output[index] = _with(output[index], where, new)
    return output


def _with(value: Any, address: Sequence[str | int], new: Any) -> Any:
    if not address:
        return new
    key, rest = address[0], address[1:]
    if isinstance(value, dict):
        return {**value, key: _with(value[key], rest, new)}
    copy = list(value)
    copy[int(key)] = _with(copy[int(key)], rest, new)
    return copy


def shipped_limits(budget_tokens: int, fixed_tokens: int = 0) -> Limits:
    """The limits the service ships with, at another budget."""
    return Limits(budget_tokens=budget_tokens, extra_fixed_tokens=fixed_tokens)


def original_limits(budget_tokens: int, fixed_tokens: int = 0) -> Limits:
    """The limits of the original module: decided anew at each call, plain, with a window of four turns."""
    return replace(ORIGINAL, budget_tokens=budget_tokens, extra_fixed_tokens=fixed_tokens)


def per_call_limits(budget_tokens: int, fixed_tokens: int = 0) -> Limits:
    """The same with a window that contracts to the newest four rounds."""
    return replace(original_limits(budget_tokens, fixed_tokens), keep_last_rounds=4)


def lexical_order(messages: Sequence[Message]) -> Order:
    """The original's ranking without vectors: the worst match with the last user text first."""
    query = next(("\n".join(m.prose) for m in reversed(messages) if m.is_turn and any(m.prose)), "")

    def rank(results: Sequence[DraftResult], _end: int) -> Ranked:
        scores = bm25(query, ["\n".join(result.texts) for result in results])
        return Ranked(sorted(range(len(scores)), key=lambda index: (scores[index], index)), Ranking.LEXICAL)

    return rank


@cache
def _ranker(scoring: Scoring) -> Ranker:
    """The product's ranking with the embedded model, and all the time that it may want."""
    clock = SystemClock()
    embedder = (
        CachedEmbedder(StaticEmbedder(), model=MODEL, cache=VectorCache(), is_local=True)
        if scoring.needs_vectors
        else None
    )
    return Ranker(clock, RankingPolicy(scoring, timeout_seconds=1e9), embedder)


def relevance_order(
    scoring: Scoring, messages: Sequence[Message], stability: Stability = Stability.REPLAY
) -> Order:
    """The product's own ranking of a conversation's candidates."""
    resolved = scoring.under(stability)
    tally = Tally.of(messages, Chars3())
    return _ranker(resolved).for_call(tally, Limits(stability=stability), Patience())


def pinch_with(settings: str) -> Pinch:
    """Pinch with some limits set, as in `min_gain=0.1&target=0.5&scoring=hybrid`; `target` is a share.

    Raises:
        ValueError: There is no such limit, or the value is not legal.
    """
    standard = Limits()
    values: dict[str, Any] = {}
    target: float | None = None
    scoring = Scoring.AUTO
    for setting in settings.split("&"):
        name, _, text = setting.partition("=")
        if name == "target":
            target = float(text)
        elif name == "scoring":
            scoring = Scoring(text)
        elif name in {one.name for one in fields(Limits)}:
            values[name] = _value(getattr(standard, name), text)
        else:
            raise ValueError(f"there is no limit {name!r}")

    def limits_of(budget_tokens: int, fixed_tokens: int) -> Limits:
        limits = replace(shipped_limits(budget_tokens, fixed_tokens), **values)
        return (
            limits if target is None else replace(limits, target_tokens=max(1, int(budget_tokens * target)))
        )

    violations = limit_violations(limits_of(50_000, 0))
    if violations:
        raise ValueError("; ".join(map(str, violations)))
    stability = values.get("stability", standard.stability)
    return Pinch(limits_of, partial(relevance_order, scoring, stability=stability))


def _value(standard: Any, text: str) -> Any:
    """A value given as text, of the kind the default is of."""
    if isinstance(standard, bool):
        return text.lower() in ("true", "1", "yes")
    if standard is None or isinstance(standard, Enum | float):
        return float(text) if standard is None else type(standard)(text)
    return tuple(text.split(",")) if isinstance(standard, tuple) else int(text)


PINCH: Final = Pinch(shipped_limits, lambda _messages: oldest_first)
"""The service's shipped defaults."""
PINCH_LEXICAL: Final = Pinch(shipped_limits, partial(relevance_order, Scoring.LEXICAL))
"""The defaults, ranked by the words that a result shares with what was said last."""
PINCH_HYBRID: Final = Pinch(shipped_limits, partial(relevance_order, Scoring.HYBRID))
"""The defaults, ranked by those words and the embedded model's cosines."""
ORIGINAL_UNIFORM: Final = Pinch(original_limits)
"""The original as it stands: everything outside the window of four turns, whatever the target."""
PER_CALL_LEXICAL: Final = Pinch(per_call_limits, lexical_order)
"""The original's idea of relevance, decided anew at each call."""
PER_CALL_COSINE: Final = Pinch(
    per_call_limits, partial(relevance_order, Scoring.COSINE, stability=Stability.PER_CALL)
)
"""The original's ranking, by the embedded model's cosines with what was said last."""
PER_CALL_HYBRID: Final = Pinch(
    per_call_limits, partial(relevance_order, Scoring.HYBRID, stability=Stability.PER_CALL)
)
"""The same, by those and by words."""
