"""A body taken apart into the entries of its history and the rest, each read by itself.

What an entry says follows from its own bytes, so one that was read before is not read again. Only bodies of
the common kind are taken apart; of any other nothing is given here, and it is read in one piece: a body with
several histories, one that a strict decoder refuses, one that is nested deeply, or one that is wrong.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import UNSET, Raw, UnsetType

from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Counter
from pinch_server.core.probe import head_of
from pinch_server.core.tally import Tally
from pinch_server.formats.dialect import Dialect
from pinch_server.formats.format import Format
from pinch_server.formats.recent import Beside, History, RecentHistories
from pinch_server.formats.registry import DIALECTS

_KNOWN: Final = b'{"pinch.known":[null'
_BETWEEN: Final = b" \t\n\r,"
_REFERS: Final = 1
_NOTHING: Final = Beside(Conversation(()), b"")
_BIT: Final[Mapping[Format, int]] = {one: 2 << place for place, one in enumerate(DIALECTS)}


class _Body(msgspec.Struct):
    """A body by its history: exactly one of the three in a body that is taken apart."""

    messages: list[Raw] | UnsetType = UNSET
    input: list[Raw] | UnsetType = UNSET
    contents: list[Raw] | UnsetType = UNSET


class _Tail(msgspec.Struct):
    """The end of a body, behind entries that are known; its history may not begin again."""

    known: list[Raw] = msgspec.field(name="pinch.known")
    messages: Raw | UnsetType = UNSET
    input: Raw | UnsetType = UNSET
    contents: Raw | UnsetType = UNSET


_BODY: Final = msgspec.json.Decoder(_Body)
_TAIL: Final = msgspec.json.Decoder(_Tail)


@dataclass(frozen=True, slots=True)
class Parts:
    """A body that was taken apart and read.

    Attributes:
        dialect: The dialect it was read in.
        conversation: What it says.
        history: Where its entries stand, and what they say.
    """

    dialect: Dialect
    conversation: Conversation
    history: History


def read_parts(body: bytes, format: Format | None, recent: RecentHistories, most: int) -> Parts | None:
    """Reads a body by its parts; None when it is not of the common kind.

    Args:
        body: The provider's request JSON.
        format: Its dialect; None to recognise it.
        recent: The histories that were read last.
        most: Messages of one body that are read.
    """
    found = recent.find(format, body)
    try:
        if found is not None:
            parts = _go_on(body, format, found[0], found[1], most)
            if parts is not None:
                return parts
        return _begin(body, format, recent.counter, most)
    except (msgspec.DecodeError, RecursionError):
        return None


def _begin(body: bytes, format: Format | None, counter: Counter, most: int) -> Parts | None:
    """Reads a body of which nothing is known."""
    whole = _BODY.decode(body)
    members = ((key, getattr(whole, key)) for key in _Body.__struct_fields__)
    histories = [(key, raws) for key, raws in members if raws is not UNSET]
    if len(histories) != 1 or not 0 < len(histories[0][1]) <= most:
        return None
    key, raws = histories[0]
    places = _places(body, _start_of(raws[0]) - _start_of(body), raws)
    if places is None:
        return None
    history = History(format, body, _NOTHING, Tally(counter))
    return _read(format, key, history, places, raws, None)


def _go_on(body: bytes, format: Format | None, known: History, count: int, most: int) -> Parts | None:
    """Reads a body whose first entries are known."""
    end = known.ends[count - 1]
    source = _KNOWN + body[end:]
    tail = _TAIL.decode(source)
    if any(getattr(tail, key) is not UNSET for key in _Body.__struct_fields__):
        return None
    raws = tail.known[1:]
    if count + len(raws) > most:
        return None
    places = _places(body, end, raws)
    # Of duplicate keys the last one counts: that has to be the list which the known entries began.
    if places is None:
        return None
    rest = places[-1][1] if places else end
    is_same = known.data[known.ends[-1] :] == body[rest:]
    history = known.going_on(count, body)
    return _read(format, known.beside.key, history, places, raws, known.beside if is_same else None)


def _places(body: bytes, at: int, raws: Sequence[Raw]) -> list[tuple[int, int]] | None:
    """Where entries start and end that follow one another; None where they do not stand there.

    Args:
        body: The body.
        at: Where the entry before them ends, or the first starts.
        raws: Their bytes.
    """
    places: list[tuple[int, int]] = []
    size = len(body)
    for raw in raws:
        while at < size and body[at] in _BETWEEN:
            at += 1
        view = memoryview(raw)
        if not body.startswith(view, at):
            return None
        places.append((at, at + len(view)))
        at = places[-1][1]
    return places


def _read(
    format: Format | None,
    key: str,
    history: History,
    places: list[tuple[int, int]],
    raws: list[Raw],
    beside: Beside | None,
) -> Parts | None:
    """Reads the entries that are new, and the rest unless it is known."""
    known = len(history.ends)
    fitting = [dialect for dialect in DIALECTS.values() if dialect.history_key == key]
    values: list[Any] = []
    facts = history.facts[-1] if history.facts else 0
    for (start, end), raw in zip(places, raws, strict=True):
        value = msgspec.json.decode(raw)
        facts |= _facts(value, fitting)
        values.append(value)
        history.starts.append(start)
        history.ends.append(end)
        history.facts.append(facts)
    members: Any = {}
    if beside is None:
        body = history.data
        members = msgspec.json.decode(body[: history.starts[0]] + body[history.ends[-1] :])
        if not isinstance(members, dict) or members.get(key) != []:
            return None
    dialect = _dialect(format, fitting, facts, members.keys() if beside is None else beside.members)
    if dialect is None or (known and dialect.format is not history.beside.format):
        return None
    if beside is None:
        without = dialect.read_beside(members)
        beside = Beside(without, head_of(without), key, frozenset(members), dialect.format)
    history.beside = beside
    history.tally.extend(
        dialect.read_entry(value, (key, index)) for index, value in enumerate(values, start=known)
    )
    messages = tuple(history.tally.messages)
    conversation = dialect.conversation(beside.conversation, messages, refers=bool(facts & _REFERS))
    return Parts(dialect, conversation, history)


def _facts(entry: Any, fitting: Sequence[Dialect]) -> int:
    """In which dialects an entry holds tool results, and whether it is a reference, a bit each."""
    if not isinstance(entry, dict):
        return 0
    facts = 0
    for dialect in fitting:
        if dialect.holds_results(entry):
            facts |= _BIT[dialect.format]
        if dialect.is_reference is not None and dialect.is_reference(entry):
            facts |= _REFERS
    return facts


def _dialect(
    format: Format | None, fitting: Sequence[Dialect], facts: int, members: AbstractSet[str]
) -> Dialect | None:
    """The dialect of a body, as `formats.body` finds it; None where that would find something wrong."""
    spoken = [dialect for dialect in fitting if facts & _BIT[dialect.format]]
    if format is not None:
        named = DIALECTS[format]
        return named if named in spoken or (named in fitting and not spoken) else None
    if len(fitting) == 1:
        return fitting[0]
    if len(spoken) > 1:
        return None
    return spoken[0] if spoken else max(fitting, key=lambda dialect: len(dialect.marks & members))


def _start_of(source: bytes | Raw) -> int:
    """The address in memory of a buffer's first byte: a Raw is a view into the body it was decoded from."""
    start: int = np.frombuffer(source, dtype=np.uint8).__array_interface__["data"][0]
    return start
