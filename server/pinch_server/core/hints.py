"""What the conversation before an event says of identifiers: which are rare, and which were not said yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.codes import Hashes, Ints
from pinch_server.core.conversation import Message, Speaker
from pinch_server.core.draft import Draft, DraftResult
from pinch_server.core.echoes import Echoes, Vocabulary
from pinch_server.core.give_way import GiveWay, on
from pinch_server.core.heard import EMPTY, Heard, Lexicon
from pinch_server.core.sightings import Sightings, read_texts
from pinch_server.core.trimming import Step
from pinch_server.core.worth import UNIT, Weighed

_RECENT_OUTPUTS: Final = 4
"""Newest messages of the model that say what it is working on."""
_HEARD_OUTPUTS: Final = 8
"""Newest messages of the model whose words tell its lines of work: 12 does alike, 4 and 16 worse."""
_NEAR_WEIGHT: Final = 2
_RARITY: Final = np.rint(UNIT / np.sqrt(np.maximum(np.arange(4_096), 1))).astype(np.int64)
_SLOTS: Final = 1 << 20
"""Words of the newest outputs are known by this much of a hash."""


@dataclass(slots=True)
class Hints:
    """Reads a conversation once, and weighs identifiers by what stands before the newest event.

    What was heard up to an event of an earlier call is not read again, but for results that may still be
    trimmed: those have to be weighed.

    Attributes:
        messages: The whole history.
        draft: The texts of its results, and what was heard.
        give_way: Called before each text that is weighed, and between those that are read.
    """

    messages: Sequence[Message]
    draft: Draft
    give_way: GiveWay = on
    _end: int = 0
    _results: int = 0
    _read: dict[str, Sightings] = field(default_factory=dict)
    _before: Lexicon = EMPTY
    _hashes: Hashes = field(default_factory=lambda: EMPTY.hashes)
    _is_spoken: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    _holders: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _is_near: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    _event: int = 0
    _vocabulary: Vocabulary | None = None
    _worth: Ints | None = None
    _asked: int = 0

    def read(self, end: int) -> None:
        """Takes all that stands before `end` into account."""
        if not self._read:
            self._begin(end)
        for message in self.messages[self._end : end]:
            for text in message.fixed:
                self._is_spoken[self._read[text].names] = True
        self._end = max(self._end, end)
        results = self.draft.results
        while self._results < len(results) and results[self._results].message < end:
            self._holders[self._names_in(results[self._results])] += 1
            self._results += 1
        self.draft.heard = Heard(
            self._before, self._hashes, self._holders, self._is_spoken, self._end, self._results
        )
        self._is_near = self._working_set(end)
        self._event, self._vocabulary, self._worth, self._asked = end, None, None, 0

    def _begin(self, end: int) -> None:
        """Reads every text that is needed, each once; what comes later gets no say before its time."""
        heard = self.draft.heard
        self._before = heard.lexicon() if heard is not None else EMPTY
        self._end, self._results = self._before.end, self._before.results
        texts = list(dict.fromkeys(self._texts(end)))
        found, self._hashes = read_texts(texts, self.give_way)
        self._read = dict(zip(texts, found, strict=True))
        self._holders, self._is_spoken = self._before.of(self._hashes)

    def _texts(self, end: int) -> Iterator[str]:
        """What was not heard yet, what was said last, and what was heard and may still be trimmed."""
        for message in self.messages[self._end :]:
            yield from message.fixed
        yield from self._said_lately(end, _RECENT_OUTPUTS)
        for index, result in enumerate(self.draft.results):
            if index >= self._results or result.step is not Step.OMITTED:
                yield from result.originals

    def _names_in(self, result: DraftResult) -> Ints:
        """The identifiers of a result, each once."""
        names = [self._read[text].names[self._read[text].each()] for text in result.originals]
        return names[0] if len(names) == 1 else np.unique(np.concatenate([*names, np.zeros(0, np.int64)]))

    def _working_set(self, end: int) -> NDArray[np.bool_]:
        """The words of what was said last: identifiers that share one are likelier to return."""
        near = np.zeros(_SLOTS, dtype=np.bool_)
        for text in self._said_lately(end, _RECENT_OUTPUTS):
            near[_slots(self._read[text])] = True
        return near

    def _said_lately(self, end: int, outputs: int) -> Iterator[str]:
        """What the newest so many messages of the model say, and the user's turns after the oldest."""
        for message in reversed(self.messages[:end]):
            if message.speaker is Speaker.MODEL or message.is_turn:
                yield from message.fixed
            outputs -= message.speaker is Speaker.MODEL
            if outputs <= 0:
                return

    def weigh(self, text: str) -> Weighed:
        """What each identifier of a text is worth: nothing once it was said, more the fewer results hold it.

        Args:
            text: A text of a result of this conversation.
        """
        self.give_way()
        found = self._read[text]
        worth = self._worth_of(found.names)
        near = found.part_rows.take(np.flatnonzero(self._is_near.take(_slots(found))))
        if near.size:
            weights = np.ones(len(worth), dtype=np.int64)
            weights[near] = _NEAR_WEIGHT
            worth *= weights.take(found.firsts)
        return Weighed(found, worth)

    def _worth_of(self, names: Ints) -> Ints:
        """What identifiers are worth at the newest event, wherever they stand."""
        if self._worth is None:
            # Where an event asks for few, and there may be many events, all of them would cost too much.
            self._asked += len(names)
            if self._asked < len(self._holders):
                return _worth(self._holders.take(names), self._is_spoken.take(names))
            self._worth = _worth(self._holders, self._is_spoken)
        return self._worth.take(names)

    def echo(self, text: str) -> Echoes:
        """The words of a text that were said lately, and what they are worth to the lines that hold them."""
        if self._vocabulary is None:
            self._vocabulary = Vocabulary.of(self._said_lately(self._event, _HEARD_OUTPUTS))
        return self._vocabulary.echo(text)


def _worth(holders: Ints, is_spoken: NDArray[np.bool_]) -> Ints:
    worth = _RARITY.take(np.minimum(holders, len(_RARITY) - 1))
    worth[is_spoken] = 0
    return worth


def _slots(found: Sightings) -> Ints:
    return (found.part_hashes & np.uint64(_SLOTS - 1)).view(np.int64)
