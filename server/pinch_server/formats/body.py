"""Request bodies end to end: recognised, read into the core's view, and edited as byte ranges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import msgspec

from pinch_server.core.conversation import Address, Conversation, ImagePart
from pinch_server.core.plan import Edit
from pinch_server.formats.dialect import Dialect
from pinch_server.formats.entries import read_parts
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import ByteEdit, byte_edit, decode, encode_string
from pinch_server.formats.recent import History, RecentHistories
from pinch_server.formats.registry import DIALECTS
from pinch_server.formats.spans import Span, locate

MOST_MESSAGES: Final = 200_000
"""Messages of one body that are read: far above any session, and a bound on memory."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A body that was read.

    Attributes:
        body: The bytes as they came.
        dialect: The dialect they were read in.
        conversation: What they say, in the core's view.
        history: Its entries, to be kept for the next call; None where it was not read by them.
    """

    body: bytes
    dialect: Dialect
    conversation: Conversation
    history: History | None = None


def read_body(body: bytes, format: Format | None, recent: RecentHistories | None = None) -> Reading:
    """Reads a request body.

    Args:
        body: The provider's request JSON.
        format: Its dialect; None to recognise it.
        recent: The histories that were read last; they save time and change nothing.

    Raises:
        BodyError: It is not JSON, has no history, or two dialects would edit it differently.
        NotUnderstoodError: It is valid, but nested too deeply to be worked on.
    """
    if recent is not None and recent.is_on:
        parts = read_parts(body, format, recent, MOST_MESSAGES)
        if parts is not None:
            return Reading(body, parts.dialect, parts.conversation, parts.history)
    decoded = decode(body)
    if not isinstance(decoded, Mapping):
        raise BodyError("body.json", f"is {_kind(decoded)}; send the request object")
    try:
        dialect = _recognise(decoded) if format is None else DIALECTS[format]
        _check_history(decoded, dialect)
        _check_dialect(decoded, dialect)
        return Reading(body, dialect, dialect.read(decoded))
    except RecursionError:
        raise NotUnderstoodError("nested too deeply") from None


def _check_history(body: Mapping[str, Any], dialect: Dialect) -> None:
    field = f"body.json.{dialect.history_key}"
    if dialect.history_key not in body:
        raise BodyError(field, f"is missing; a body in the format {dialect.format} needs it")
    history = body[dialect.history_key]
    if isinstance(history, list) and len(history) > MOST_MESSAGES:
        raise NotUnderstoodError("too many messages")
    if not isinstance(history, list) and not (dialect.plain_history and isinstance(history, str)):
        raise BodyError(field, f"is {_kind(history)}; give a list")


def _check_dialect(body: Mapping[str, Any], dialect: Dialect) -> None:
    """A body whose tool results all speak another dialect was named wrongly: it would never be trimmed."""
    if dialect.has_results(body):
        return
    spoken = [other for other in fitting(body) if other is not dialect and other.has_results(body)]
    if spoken:
        names = " or ".join(other.format for other in spoken)
        problem = f"is {dialect.format}, but the tool results are those of {names}; name that, or none"
        raise BodyError("body.format", problem)


def _kind(value: Any) -> str:
    for kind, name in ((bool, "a boolean"), (str, "a string"), (int | float, "a number"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "an object"


def fitting(body: Mapping[str, Any]) -> list[Dialect]:
    """The dialects whose history the body has."""
    return [
        dialect
        for dialect in DIALECTS.values()
        if isinstance(body.get(dialect.history_key), list)
        or (dialect.plain_history and isinstance(body.get(dialect.history_key), str))
    ]


def _recognise(body: Mapping[str, Any]) -> Dialect:
    """The one dialect in which this body has tool results; where none has, the one whose marks it bears."""
    dialects = fitting(body)
    if not dialects:
        keys = sorted({dialect.history_key for dialect in DIALECTS.values()})
        raise BodyError(
            "body.json",
            f"has no list under any of {', '.join(keys)}; send the request body, or name its format",
        )
    if len(dialects) == 1:
        return dialects[0]
    editable = [dialect for dialect in dialects if dialect.has_results(body)]
    if len(editable) > 1:
        names = " or ".join(dialect.format for dialect in editable)
        raise BodyError("body.format", f"could be {names}, which would edit it differently; name the format")
    return editable[0] if editable else max(dialects, key=lambda dialect: len(dialect.marks & body.keys()))


def byte_edits(reading: Reading, edits: Sequence[Edit]) -> list[tuple[Edit, ByteEdit]]:
    """Turns planned edits into byte ranges of the body, ascending.

    Every range is checked to hold just the text its edit was planned on, so that a reading that went wrong
    can never change a byte elsewhere.

    Raises:
        NotUnderstoodError: A text does not stand where it was read.
    """
    places = _places(reading, edits)
    known = reading.history.written if reading.history is not None else {}
    written: list[tuple[Edit, ByteEdit]] = []
    for edit in edits:
        address = edit.old.address
        if address is None:
            raise NotUnderstoodError("a text has no place")
        before = known.get(address)
        if before is not None and before[0] == edit.new:
            written.append((edit, before[1]))
            continue
        made = _byte_edit(reading, edit, places.get(address))
        known[address] = edit.new, made
        written.append((edit, made))
    if any(one[1].offset > other[1].offset for one, other in pairwise(written)):
        written.sort(key=lambda pair: pair[1].offset)
    return written


def _places(reading: Reading, edits: Sequence[Edit]) -> dict[Address, Span]:
    """Where the texts stand that are to be changed now; those written before are not looked for."""
    history = reading.history
    if history is None:
        return locate(reading.body, (edit.old.address for edit in edits if edit.old.address is not None))
    sought: dict[int, list[Address]] = {}
    for edit in edits:
        address = edit.old.address
        if address is not None and history.written.get(address, (None,))[0] != edit.new:
            sought.setdefault(edit.message, []).append(address)
    places: dict[Address, Span] = {}
    for message, addresses in sought.items():
        start, end = history.starts[message], history.ends[message]
        # Below the key of the history and the index of the entry.
        below = locate(reading.body[start:end], (address[2:] for address in addresses))
        places.update(
            (address, (start + below[address[2:]][0], below[address[2:]][1]))
            for address in addresses
            if address[2:] in below
        )
    return places


def _byte_edit(reading: Reading, edit: Edit, place: Span | None) -> ByteEdit:
    if place is None:
        raise NotUnderstoodError("a text was not found where it was read")
    offset, length = place
    old = memoryview(reading.body)[offset : offset + length]
    if isinstance(edit.old, ImagePart):
        replacement = _image_note(old, edit.new, reading.dialect)
    elif decode(old) != edit.old.text:
        raise NotUnderstoodError("another text stands where one was read")
    else:
        replacement = encode_string(edit.new)
    return byte_edit(reading.body, offset, length, replacement)


def _image_note(part: memoryview, text: str, dialect: Dialect) -> bytes:
    """The text part that takes an image part's place; members that stay keep the very bytes they had."""
    try:
        members = msgspec.json.decode(part, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        raise NotUnderstoodError("an image part could not be taken apart") from None
    return msgspec.json.encode(dialect.image_note(members, text))
