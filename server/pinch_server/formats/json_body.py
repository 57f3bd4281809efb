"""JSON as bytes: decoding it, and writing edits without touching the rest.

Nothing is ever re-encoded: an edit is a byte range of the body that came and the bytes that take its place.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import msgspec

from pinch_server.formats.errors import BodyError, NotUnderstoodError

_LONGEST_INT: Final = 4_300
"""Digits of an integer that are still read as one, the interpreter's own bound; a longer one only has to be
skipped."""


@dataclass(frozen=True, slots=True)
class ByteEdit:
    """One changed range of a request body.

    Attributes:
        offset: Where the replaced bytes start.
        length: How many are replaced; quotes of a string are among them.
        replacement: The JSON value that takes their place.
        sha256: The digest of the replaced bytes (32 bytes).
    """

    offset: int
    length: int
    replacement: bytes
    sha256: bytes


def decode(body: bytes | memoryview) -> Any:
    """Decodes a request body.

    Unlike strict decoders it takes all that providers are sent: lone surrogates, numbers out of range,
    integers of any length. Of duplicate keys the last one counts.

    Raises:
        BodyError: The body is not UTF-8 or not JSON.
        NotUnderstoodError: It is nested too deeply to be read.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(bytes(body).decode("utf-8"), parse_constant=_refuse_constant, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise BodyError("body.json", f"is not UTF-8 (byte {error.start}); send the JSON as UTF-8") from None
    except RecursionError:
        raise NotUnderstoodError("nested too deeply") from None
    except ValueError as error:
        raise BodyError("body.json", f"is not JSON ({error}); send the provider's request body") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits.lstrip("-")) <= _LONGEST_INT else float(digits)


def encode_string(text: str) -> bytes:
    """The JSON string for `text`; lone surrogates stay escapes, since they have no UTF-8."""
    try:
        return msgspec.json.encode(text)
    except (UnicodeEncodeError, msgspec.EncodeError):
        return json.dumps(text).encode("ascii")


def byte_edit(body: bytes, offset: int, length: int, replacement: bytes) -> ByteEdit:
    """The edit that puts `replacement` in a range of `body`, with its receipt."""
    replaced = memoryview(body)[offset : offset + length]
    return ByteEdit(offset, length, replacement, hashlib.sha256(replaced).digest())


def splice(body: bytes, edits: Sequence[ByteEdit]) -> bytes:
    """The body with every edit applied.

    Args:
        body: The body the edits were made for.
        edits: Ascending and not overlapping.
    """
    pieces: list[bytes | memoryview] = []
    view = memoryview(body)
    position = 0
    for edit in edits:
        pieces.append(view[position : edit.offset])
        pieces.append(edit.replacement)
        position = edit.offset + edit.length
    pieces.append(view[position:])
    return b"".join(pieces)
