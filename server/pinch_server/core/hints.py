"""What the conversation before an event says of identifiers: which are rare, and which were not said yet."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pinch_server.core.conversation import Message, Speaker
from pinch_server.core.draft import Draft
from pinch_server.core.identifiers import identifiers

_RECENT_OUTPUTS: Final = 4
"""Newest messages of the model that say what it is working on."""
_NEAR_WEIGHT: Final = 2.0


@dataclass(slots=True)
class Hints:
    """Reads a conversation once, as far as the newest event, and weighs identifiers for it.

    Attributes:
        messages: The whole history.
        draft: The texts of its results.
    """

    messages: Sequence[Message]
    draft: Draft
    _end: int = 0
    _results: int = 0
    _spoken: set[str] = field(default_factory=set)
    _holders: Counter[str] = field(default_factory=Counter)
    _near: frozenset[str] = frozenset()

    def read(self, end: int) -> None:
        """Takes all that stands before `end` into account."""
        for message in self.messages[self._end : end]:
            for text in message.fixed:
                self._spoken.update(identifiers(text))
        self._end = max(self._end, end)
        results = self.draft.results
        while self._results < len(results) and results[self._results].message < end:
            self._holders.update(identifiers("\n".join(results[self._results].originals)))
            self._results += 1
        self._near = self._working_set(end)

    def _working_set(self, end: int) -> frozenset[str]:
        """The words of what was said last: identifiers that share one are likelier to return."""
        near: set[str] = set()
        outputs = 0
        for message in reversed(self.messages[:end]):
            if message.speaker is Speaker.MODEL:
                outputs += 1
            if message.speaker is Speaker.MODEL or message.is_turn:
                for text in message.fixed:
                    near.update(part for word in identifiers(text) for part in _parts(word))
            if outputs >= _RECENT_OUTPUTS:
                break
        return frozenset(near)

    def weigh(self, word: str) -> float:
        """What an identifier is worth: nothing once it was said, more the fewer results hold it."""
        if word in self._spoken:
            return 0.0
        worth = 1.0 / math.sqrt(max(1, self._holders[word]))
        return worth * _NEAR_WEIGHT if not self._near.isdisjoint(_parts(word)) else worth


def _parts(word: str) -> list[str]:
    pieces = word
    for mark in "./:-":
        pieces = pieces.replace(mark, " ")
    return [piece for piece in pieces.split() if len(piece) > 3]
