"""The order of candidates as one score of named signals, each of which can be switched off."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pinch_server.core.conversation import Message, TextPart
from pinch_server.core.draft import DraftResult
from pinch_server.core.event import Order, Ranked
from pinch_server.core.identifiers import identifiers
from pinch_server.core.lexical import lexical_scores
from pinch_server.core.plan import Ranking
from pinch_server.core.ranking import ranking_query


class Signal(StrEnum):
    """What may say that a result is still needed."""

    AGE = "age"
    """The newer, the likelier it is needed."""
    SIZE = "size"
    """Short results cost little and are needed often: long ones go first."""
    UNSPOKEN = "unspoken"
    """The more of its identifiers nobody has said yet, the more would be lost with it."""
    LAST_USE = "last_use"
    """The later somebody said one of its identifiers, the likelier the next will."""
    LEXICAL = "lexical"
    """The better it matches the last user turn and the model's newest outputs and arguments."""
    SUPERSEDED = "superseded"
    """The same call was made again later: the earlier result is out of date."""
    DUPLICATE = "duplicate"
    """A later result says the same: the earlier one is free to go."""
    ERROR = "error"
    """An error says what not to try again."""


ALL: Final = frozenset(Signal)
_FREE_WEIGHT: Final = 8.0
"""Beyond what all other signals together can say."""

Texts = Sequence[str]


def order_by(messages: Sequence[Message], signals: Collection[Signal] = ALL) -> Order:
    """An order by some signals, summed with equal weight; results that are free to go come first.

    Args:
        messages: The whole history; an event looks only at what stands before it.
        signals: Those that count.
    """
    return _Scored(messages, frozenset(signals)).rank


@dataclass(slots=True)
class _Scored:
    messages: Sequence[Message]
    signals: frozenset[Signal]
    _end: int = 0
    _last_said: dict[str, int] = field(default_factory=dict)
    _last_text: dict[str, tuple[int, int]] = field(default_factory=dict)
    _last_call: dict[tuple[str, str], int] = field(default_factory=dict)
    _call_of: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    _names: dict[tuple[int, int | None], list[str]] = field(default_factory=dict)

    def rank(self, candidates: Sequence[DraftResult], end: int) -> Ranked:
        """Ranks the candidates of one event."""
        self._read(end)
        scores = [0.0] * len(candidates)
        for signal in sorted(self.signals):
            for index, share in enumerate(self._values(signal, candidates, end)):
                scores[index] += share
        order = sorted(range(len(candidates)), key=lambda index: (scores[index], index))
        return Ranked(order, Ranking.LEXICAL, "signals")

    def _read(self, end: int) -> None:
        """Takes in what stands before `end`; what was said, and which calls and results came last."""
        nearest: dict[str, tuple[str, str]] = {}
        start = self._end
        for at, message in enumerate(self.messages[:end]):
            if at >= start:
                for text in message.fixed:
                    for word in identifiers(text):
                        self._last_said[word] = at
            for index, result in enumerate(message.results):
                if at >= start:
                    text = "\n".join(part.text for part in result.parts if isinstance(part, TextPart))
                    self._last_text[text] = (at, index)
                    if result.call_id in nearest:
                        call = nearest[result.call_id]
                        self._call_of[at, index] = call
                        self._last_call[call] = at
            nearest.update({c.id: (c.name or "", c.arguments) for c in message.calls if c.id is not None})
        self._end = max(start, end)

    def _values(self, signal: Signal, candidates: Sequence[DraftResult], end: int) -> list[float]:
        """What a signal says of each candidate: from 0, not needed, to 1; or far less where free to go."""
        if signal is Signal.LEXICAL:
            texts = ["\n".join(result.originals) for result in candidates]
            return _shares([float(score) for score in self._lexical(texts, end)])
        of: dict[Signal, Callable[[DraftResult], float]] = {
            Signal.AGE: lambda result: result.message,
            Signal.SIZE: lambda result: -result.chars,
            Signal.UNSPOKEN: lambda result: sum(n not in self._last_said for n in self._identifiers(result)),
            Signal.LAST_USE: lambda result: max(
                (self._last_said.get(name, 0) for name in self._identifiers(result)), default=0
            ),
        }
        if signal in of:
            return _shares([of[signal](result) for result in candidates])
        if signal is Signal.ERROR:
            return [float(result.value.is_error) for result in candidates]
        is_free = self._is_superseded if signal is Signal.SUPERSEDED else self._is_repeated
        return [-_FREE_WEIGHT if is_free(result) else 0.0 for result in candidates]

    def _lexical(self, texts: Texts, end: int) -> Sequence[float]:
        query = ranking_query(self.messages, end)
        return list(lexical_scores(query, texts)) if query else [0.0] * len(texts)

    def _identifiers(self, result: DraftResult) -> list[str]:
        key = (result.message, result.value.block)
        if key not in self._names:
            self._names[key] = identifiers("\n".join(result.originals))
        return self._names[key]

    def _place(self, result: DraftResult) -> tuple[int, int]:
        blocks = [one.block for one in self.messages[result.message].results]
        return result.message, blocks.index(result.value.block)

    def _is_superseded(self, result: DraftResult) -> bool:
        call = self._call_of.get(self._place(result))
        return call is not None and self._last_call[call] > result.message

    def _is_repeated(self, result: DraftResult) -> bool:
        text = "\n".join(part.text for part in result.value.parts if isinstance(part, TextPart))
        return bool(text.strip()) and self._last_text.get(text, (0, 0)) > self._place(result)


def _shares(values: Sequence[float]) -> list[float]:
    """The rank of each value as a share of all: 0 for the least, 1 for the greatest; equal ones are equal."""
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    greatest = max(len(places) - 1, 1)
    return [places[value] / greatest for value in values]
