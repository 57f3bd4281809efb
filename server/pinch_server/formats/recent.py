"""The conversations that were read last, so that the next call of a session reads only what is new in it.

A history is found again by its bytes: a call whose bytes begin with those of an earlier one says, so far, the
same. Nothing is taken for known that was not compared byte for byte.
"""

from array import array
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import islice
from sys import getsizeof
from threading import Lock
from typing import Final

from pinch_server.core.conversation import Address, Conversation
from pinch_server.core.counting import Counter
from pinch_server.core.tally import Tally, numbers
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import ByteEdit
from pinch_server.formats.worked import NOTHING_WORKED, Worked, weight_of

MOST_BYTES: Final = 128 * 1024 * 1024
"""What is kept in all, where nothing else is said (bytes)."""
_OPENING_BYTES: Final = 128
_COMPARED: Final = 64
_SEARCHED: Final = 8
_FEW_ENTRIES: Final = 8
"""As many entries may a call take back of the one before and still be taken for what follows it."""
_MESSAGE_BYTES: Final = 500
_RESULT_BYTES: Final = 1_200
"""What a message and a tool result take beside their bytes and texts: objects, the call, lists (measured)."""


@dataclass(frozen=True, slots=True)
class Beside:
    """All of a call but its history.

    Attributes:
        conversation: What it says, without messages.
        head: The digest of what ships before the messages.
        key: The member of the body that holds the history; empty where there is no body.
        members: All members of the body.
        format: The dialect it was read in; None where there is no body.
    """

    conversation: Conversation
    head: bytes
    key: str = ""
    members: frozenset[str] = frozenset()
    format: Format | None = None


@dataclass(slots=True)
class History:
    """A history that was read.

    Attributes:
        kind: What else its reading depended on.
        data: The bytes it was read from; those before its first entry are part of what is compared.
        beside: What else they say.
        tally: What planning needs of it.
        starts: Where each entry starts.
        ends: Where each entry ends.
        facts: What was noted of the entries up to each, in the words of their reader.
        worked: What was worked out of the edits of its newest plan.
        written: For each place of a text, the new text that was written last, and as what.
        before: The history it goes on from, and makes superfluous.
    """

    kind: Hashable
    data: bytes
    beside: Beside
    tally: Tally
    starts: "array[int]" = field(default_factory=numbers)
    ends: "array[int]" = field(default_factory=numbers)
    facts: "array[int]" = field(default_factory=numbers)
    worked: Worked = NOTHING_WORKED
    written: dict[Address, tuple[str, ByteEdit]] = field(default_factory=dict)
    before: "History | None" = None
    weight: int = 0

    def going_on(self, count: int, data: bytes) -> "History":
        """The history of a call whose first `count` entries are those of this one, to be extended."""
        whole = count == len(self.ends)
        written = self.written.items()
        return History(
            self.kind,
            data,
            self.beside,
            self.tally.first(count),
            self.starts[:count],
            self.ends[:count],
            self.facts[:count],
            self.worked,
            dict(written) if whole else {place: one for place, one in written if _entry(place) < count},
            self if len(self.ends) - count <= _FEW_ENTRIES else None,
        )


def _entry(address: Address) -> int:
    """The index of the entry that a place is in."""
    return next(step for step in address if isinstance(step, int))


_NONE: Final[OrderedDict[int, History]] = OrderedDict()


class RecentHistories:
    """The histories used last, bounded by the memory they take. Shared by the threads of a worker.

    Args:
        counter: The estimate in force.
        most_bytes: What is kept in all (bytes); with 0 nothing is.
    """

    def __init__(self, counter: Counter, most_bytes: int = MOST_BYTES) -> None:
        self.counter: Final = counter
        self._most = most_bytes
        self._held = 0
        self._kept: OrderedDict[int, History] = OrderedDict()
        self._openings: dict[tuple[Hashable, bytes], OrderedDict[int, History]] = {}
        self._lock = Lock()

    @property
    def is_on(self) -> bool:
        """Whether anything is kept at all."""
        return self._most > 0

    @property
    def held(self) -> int:
        """What is kept now (bytes), as it is counted."""
        return self._held

    def find(self, kind: Hashable, data: bytes) -> tuple[History, int] | None:
        """The history that has most in common with the beginning of `data`.

        Args:
            kind: What else its reading must have depended on.
            data: The bytes of a call.

        Returns:
            The history, and how many of its entries stand in `data` just so; None when none does. Of several
            the longest, as a rule: one that is more than half of `data` is taken at once.
        """
        opening = (kind, data[:_OPENING_BYTES])
        with self._lock:
            found = list(islice(reversed(self._openings.get(opening, _NONE).values()), _COMPARED))
        best: tuple[History, int] | None = None
        for history in found:
            end = history.ends[-1]
            if data.startswith(memoryview(history.data)[:end]) and (best is None or end > best[0].ends[-1]):
                best = history, len(history.ends)
                if 2 * end > len(data):
                    break
        for history in found[:_SEARCHED] if best is None else ():
            count = _entries_in_common(history, data)
            if count and (best is None or history.ends[count - 1] > best[0].ends[best[1] - 1]):
                best = history, count
        return best

    def put(self, history: History) -> None:
        """Keeps a history in the place of the one it goes on from, at the cost of those used longest ago."""
        superfluous, history.before = history.before, None
        history.weight = _weight(history)
        if not history.ends or history.weight > self._most:
            return
        with self._lock:
            if superfluous is not None:
                self._drop(superfluous)
            self._kept[id(history)] = history
            self._openings.setdefault(_opening(history), OrderedDict())[id(history)] = history
            self._held += history.weight
            while self._held > self._most:
                self._drop(next(iter(self._kept.values())))

    def _drop(self, history: History) -> None:
        if self._kept.pop(id(history), None) is None:
            return
        self._held -= history.weight
        opening = _opening(history)
        self._openings[opening].pop(id(history))
        if not self._openings[opening]:
            del self._openings[opening]


def _opening(history: History) -> tuple[Hashable, bytes]:
    return history.kind, history.data[:_OPENING_BYTES]


def _entries_in_common(history: History, data: bytes) -> int:
    """How many entries of a history stand at the beginning of `data`."""
    view, low, high = memoryview(history.data), 0, len(history.ends)
    while low < high:
        middle = (low + high + 1) // 2
        if data.startswith(view[: history.ends[middle - 1]]):
            low = middle
        else:
            high = middle - 1
    return low


def _weight(history: History) -> int:
    """About the memory that a history takes (bytes)."""
    tally = history.tally
    beside = history.beside.conversation
    planned = tally.planned[1].edits if tally.planned is not None else ()
    return (
        len(history.data)
        + tally.held[-1]
        + sum(map(getsizeof, (*beside.tools, *beside.preamble)))
        + _MESSAGE_BYTES * len(history.ends)
        + _RESULT_BYTES * len(tally.results)
        + tally.heard_bytes
        + history.worked.weight
        + (0 if planned is history.worked.edits else weight_of(planned))
    )
