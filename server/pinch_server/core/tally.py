"""What planning needs of a conversation as it came, message by message: sizes, names, call points, digests.

All of it follows from the messages alone, and a message's share from those up to it. So the tally of a
session's next call is the one before it, and the messages that are new.
"""

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinch_server.core.checkpoint import history_digest
from pinch_server.core.conversation import ImagePart, Message, Speaker, note_calls, text_chars, tool_name
from pinch_server.core.counting import Counter
from pinch_server.core.draft_result import DraftResult, counted_texts, is_trimmable
from pinch_server.core.probe import Rows
from pinch_server.core.turn_frame import TurnFrame, is_said, turn_frame

if TYPE_CHECKING:
    from pinch_server.core.plan import Plan
    from pinch_server.core.standing import Standing

_NO_HISTORY = b"\0" * 32
_STANDINGS = 3
_NONE = -1
_PART_BYTES = 200
"""What a part of a result takes beside its text: its object, its address (measured)."""


def numbers(*first: int) -> "array[int]":
    """A list of whole numbers, eight bytes each: a long history has many, and each call copies them."""
    return array("q", first)


@dataclass(slots=True)
class Tally:
    """The tally of one call's conversation. Each call makes its own, and changes none that others hold.

    Attributes:
        counter: The estimate in force.
        messages: The whole history.
        units: What each message counts (units).
        images: What each message's images cost (tokens).
        held: The memory that texts and parts take before each message and before the end (bytes).
        totals: The size before each message and before the end (tokens).
        chars: The characters of texts before each message and before the end.
        results: Every tool result, untrimmed, in the order of the conversation.
        results_before: How many of them stand before each message and before the end.
        left_off: Where the replay of this call came to its end; None when there was none.
        standings: The same of earlier calls, newest first.
        planned: The plan for just these messages, and what else it depended on; None where there is none.
    """

    counter: Counter
    messages: list[Message] = field(default_factory=list)
    units: "array[int]" = field(default_factory=numbers)
    images: "array[int]" = field(default_factory=numbers)
    held: "array[int]" = field(default_factory=lambda: numbers(0))
    totals: "array[int]" = field(default_factory=lambda: numbers(0))
    chars: "array[int]" = field(default_factory=lambda: numbers(0))
    results: list[DraftResult] = field(default_factory=list)
    results_before: "array[int]" = field(default_factory=lambda: numbers(0))
    left_off: "Standing | None" = None
    standings: "tuple[Standing, ...]" = ()
    planned: "tuple[Hashable, Plan] | None" = None
    _answers: "array[int]" = field(default_factory=numbers)
    _names: dict[str, str] = field(default_factory=dict)
    _digests: list[bytes] = field(default_factory=lambda: [_NO_HISTORY])
    _rows: Rows = field(default_factory=Rows)
    _said: "array[int]" = field(default_factory=lambda: numbers(_NONE))
    _asked: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, messages: Iterable[Message], counter: Counter) -> "Tally":
        """The tally of a conversation that nothing is known of."""
        tally = cls(counter)
        tally.extend(messages)
        return tally

    def first(self, length: int) -> "Tally":
        """The tally of the first `length` messages, to be extended by others than those that follow here."""
        results = self.results_before[length]
        answers, names, asked = self._answers[:], dict(self._names), self._asked[:]
        if length < len(self.messages):
            answers = answers[: bisect_left(answers, length)]
            asked = [turn for turn in asked if turn[0] < length]
            names = {}
            for message in self.messages[:length]:
                note_calls(names, message)
        newest = (self.left_off, *self.standings) if self.left_off is not None else self.standings
        return Tally(
            self.counter,
            self.messages[:length],
            self.units[:length],
            self.images[:length],
            self.held[: length + 1],
            self.totals[: length + 1],
            self.chars[: length + 1],
            self.results[:results],
            self.results_before[: length + 1],
            None,
            tuple(standing for standing in newest if standing.end <= length)[:_STANDINGS],
            self.planned if length == len(self.messages) else None,
            answers,
            names,
            self._digests[: length + 1],
            self._rows.first(length),
            self._said[: length + 1],
            asked,
        )

    def extend(self, messages: Iterable[Message]) -> None:
        """Takes in further messages."""
        added = list(messages)
        if added:
            self.planned = None
        sizes = iter(self.counter.units(list(counted_texts(added))))
        for message in added:
            index = len(self.messages)
            size = sum(next(sizes) for _ in message.fixed)
            image_tokens = message.image_tokens
            held = sum(map(str.__sizeof__, message.fixed))
            for result in message.results:
                texts: list[str] = []
                editable = 0
                for part in result.parts:
                    held += _PART_BYTES
                    held += (part.description if isinstance(part, ImagePart) else part.text).__sizeof__()
                    if is_trimmable(part):
                        texts.append(part.text)
                        editable += next(sizes)
                    elif isinstance(part, ImagePart):
                        image_tokens += part.tokens
                    else:
                        size += next(sizes)
                size += editable
                tool = tool_name(result, self._names)
                own = sum(map(len, texts))
                self.results.append(DraftResult(index, result, tool, texts, texts, editable, editable, own))
            self.units.append(size)
            self.images.append(image_tokens)
            self.totals.append(self.totals[-1] + self.counter.tokens(size) + image_tokens)
            self.held.append(self.held[-1] + held)
            self.chars.append(self.chars[-1] + text_chars(message))
            self.results_before.append(len(self.results))
            is_model = message.speaker is Speaker.MODEL
            if is_model and index > 0 and self.messages[-1].speaker is not Speaker.MODEL:
                self._answers.append(index)
            note_calls(self._names, message)
            said = self._said[-1]
            if is_said(message):
                if message.speaker is Speaker.USER:
                    self._asked.append((index, said))
                said = index
            self._said.append(said)
            self.messages.append(message)

    def points(self) -> list[int]:
        """The points at which calls were made, each as the number of messages that stood before it.

        One stands before each run of model output, and one at the end; a closing run (a prefill) belongs to
        the point before it, and the end then adds none.
        """
        messages = self.messages
        if self._answers and messages[-1].speaker is Speaker.MODEL:
            return list(self._answers)
        return [*self._answers, len(messages)]

    @property
    def newest_point(self) -> int:
        """The last of `points`."""
        closed = self._answers and self.messages[-1].speaker is Speaker.MODEL
        return self._answers[-1] if closed else len(self.messages)

    @property
    def heard_bytes(self) -> int:
        """The memory that the standings' lexicons take (bytes)."""
        standings = self.standings if self.left_off is None else (self.left_off, *self.standings)
        heard = {id(one.heard): one.heard for one in standings if one.heard is not None}
        return sum(one.weight for one in heard.values())

    def digest(self, end: int) -> bytes:
        """A digest of all that stands before a point, 32 bytes."""
        digests = self._digests
        while len(digests) <= end:
            digests.append(history_digest(digests[-1], self.messages[len(digests) - 1]))
        return digests[end]

    def rows(self) -> Rows:
        """What the next call has to know of each message, as it came."""
        self._rows.extend(self.messages[len(self._rows) :])
        return self._rows

    def turn_frame(self) -> TurnFrame:
        """The current turn, framed for whoever classifies it."""
        asked, before = self._asked[-1] if self._asked else (_NONE, _NONE)
        messages = self.messages
        return turn_frame(
            messages[asked] if asked != _NONE else None, messages[before] if before != _NONE else None
        )
