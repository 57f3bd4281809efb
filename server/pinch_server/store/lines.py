"""The journal's file format, version 1.

A journal file is text, one record a line, every line ended by one LF; nothing is ever changed in place.

    pinch-journal 1
    8c7dd922 D {"decision_id":"0197…","created_at":1764460800000000,…}
    0f3b21aa O {"decision_id":"0197…","reported_at":1764460801000000,"outcome":"DISPATCHED",…}

- The first line names the format and its version. A reader that does not know it leaves the file alone.
- Every other line is the CRC-32 (zlib) of what follows the first space, up to and without the LF, as eight
  lower-case hexadecimal digits; a space; the kind, `D` for a `Decision` or `O` for an `Outcome`; a space; and
  the fields of that dataclass as a JSON object. JSON escapes control characters: an LF only ever ends a line.
- A line is written by one write() before the call it belongs to is answered, hence it is whole once it was
  acknowledged. What follows the last LF was never acknowledged and is not read.
- A line whose checksum, kind or JSON is wrong is skipped, but for a sound record at its end: that stands
  behind half a line that something else appended. Once its other lines are in the database the file is set
  aside under the added name `.damaged` instead of being deleted.
- Fields with a default may be added to the dataclasses under the same version; all else is a new version.

Beside `NAME.journal`, `NAME.checkpoint` holds one line in the same manner, the CRC-32 and a decimal number of
twenty digits: how many bytes of the journal the database already has. It is only a hint: with a wrong or
missing one, lines are offered to the database again, which ignores those it has.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, Final
from zlib import crc32

import msgspec

from pinch_server.core.decision import Decision, Outcome

Record = Decision | Outcome

HEADER_NAME = b"pinch-journal "
HEADER = HEADER_NAME + b"1\n"
_BEGINNING: Final = re.compile(rb"(?=[0-9a-f]{8} [DO] \{)")
_MOST_BEGINNINGS: Final = 64
"""So many places of a damaged line are tried, each at the cost of a checksum over the rest of it."""

_encode = msgspec.json.Encoder().encode
_DECODE: dict[bytes, Callable[[bytes], Record]] = {
    b"D": msgspec.json.Decoder(Decision).decode,
    b"O": msgspec.json.Decoder(Outcome).decode,
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a stretch of a journal holds.

    Attributes:
        records: The sound records, in their order.
        lines: How many whole lines were read, the damaged among them.
        damaged: How many of those were not readable.
        size: Bytes of those lines: where to go on reading, from the stretch's beginning.
    """

    records: tuple[Record, ...]
    lines: int
    damaged: int
    size: int


def encode_record(record: Record) -> bytes:
    """Return the record's line, LF included. Unpaired surrogates in its texts become question marks."""
    kind = b"D " if isinstance(record, Decision) else b"O "
    try:
        text = kind + _encode(record)
    except UnicodeEncodeError:
        text = kind + _encode(_well_formed(record))
    return b"%08x %b\n" % (crc32(text), text)


def parse_lines(data: bytes, limit: int) -> Parsed:
    """Read at most `limit` whole lines from the beginning of `data`; never raises, whatever the bytes are."""
    records: list[Record] = []
    lines = damaged = start = 0
    while lines < limit and (end := data.find(b"\n", start)) >= 0:
        record = _decode_line(data[start:end])
        if record is None:
            damaged += 1
            record = _behind(data[start:end])
        if record is not None:
            records.append(record)
        lines += 1
        start = end + 1
    return Parsed(tuple(records), lines, damaged, start)


def encode_checkpoint(offset: int) -> bytes:
    """Return the checkpoint that says how many bytes the database has."""
    text = b"%020d" % offset
    return b"%08x %b\n" % (crc32(text), text)


def parse_checkpoint(data: bytes) -> int | None:
    """Return the number of bytes a checkpoint states, or None when it is torn or damaged."""
    text = data[9:29]
    if len(data) != 30 or not text.isdigit() or data != encode_checkpoint(int(text)):
        return None
    return int(text)


def _decode_line(line: bytes) -> Record | None:
    checksum, text, kind = line[:9], line[9:], line[9:10]
    if checksum != b"%08x " % crc32(text) or text[1:2] != b" " or kind not in _DECODE:
        return None
    try:
        return _DECODE[kind](text[2:])
    except (msgspec.MsgspecError, ValueError):
        return None


def _behind(line: bytes) -> Record | None:
    """Return the sound record that ends a damaged line, or None."""
    for beginning in islice(_BEGINNING.finditer(line), _MOST_BEGINNINGS):
        record = _decode_line(line[beginning.start() :])
        if record is not None:
            return record
    return None


def _well_formed(record: Record) -> Record:
    texts: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, str):
            texts[field.name] = value.encode("utf-8", "replace").decode()
    return replace(record, **texts)
