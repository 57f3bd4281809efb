"""Reads an embeddings reply, and believes nothing of it before it is checked."""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from pinch_server.core.embedding import Fault, Unavailable
from pinch_server.core.exact import fold_columns
from pinch_server.core.nouns import counted

_MOST_DIMENSIONS: Final = 65_536
_NO_NUMBER: Final = re.compile(rb"\b(?:NaN|Infinity)\b")


class _Item(msgspec.Struct):
    embedding: str | list[float]
    index: int | None = None


class _Reply(msgspec.Struct):
    data: list[_Item]


_DECODER: Final = msgspec.json.Decoder(_Reply)


def read_reply(body: bytes, count: int) -> NDArray[np.float32] | Unavailable:
    """The vectors of a reply, in the order of the texts that were sent.

    Args:
        body: The reply's JSON, its vectors as numbers or as base64 of little-endian float32.
        count: Texts that were sent.

    Returns:
        Normalised rows, rounded to float16 precision: they are kept in that precision, and a vector must be
        the same whether it comes from the endpoint or from where it was kept.
    """
    try:
        items = _DECODER.decode(body).data
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Python's own JSON writes NaN and Infinity as bare words, which no strict reader takes.
        fault = Fault.NOT_FINITE if _NO_NUMBER.search(body) else Fault.MALFORMED
        kind = "an HTML page" if body.lstrip()[:1] == b"<" else counted(len(body), "byte")
        return Unavailable(fault, f"{kind}, not the JSON of an embeddings reply")
    if len(items) != count:
        return Unavailable(Fault.WRONG_COUNT, f"{counted(len(items), 'vector')} for {counted(count, 'text')}")
    indices = _indices(items)
    if sorted(indices) != list(range(count)):
        return Unavailable(Fault.WRONG_COUNT, "the indices are not those of the texts, once each")
    try:
        vectors = [_vector(item.embedding) for item in items]
    except (ValueError, binascii.Error):
        return Unavailable(Fault.MALFORMED, "a vector is not base64 of float32 numbers")
    dimensions = {len(vector) for vector in vectors}
    if len(dimensions) != 1 or not 0 < max(dimensions) <= _MOST_DIMENSIONS:
        return Unavailable(Fault.WRONG_DIMENSION, f"dimensions {sorted(dimensions)[:5]} in one reply")
    rows = np.empty((count, dimensions.pop()), dtype=np.float32)
    rows[indices] = vectors
    return checked(rows)


def checked(rows: NDArray[np.float32]) -> NDArray[np.float32] | Unavailable:
    """The rows normalised and rounded to float16 precision, or what is wrong with one of them."""
    if not np.isfinite(rows).all():
        return Unavailable(Fault.NOT_FINITE, "a vector holds NaN or an infinity")
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        return Unavailable(Fault.ZERO_VECTOR, "a vector is zero")
    # Divided by the largest number first: no square can overflow or vanish.
    near_one = rows / largest
    lengths = np.sqrt(fold_columns(near_one * near_one))
    kept: NDArray[np.float32] = (near_one / lengths[:, np.newaxis]).astype(np.float16).astype(np.float32)
    return kept


def _indices(items: Iterable[_Item]) -> list[int]:
    given = [item.index for item in items]
    if all(index is None for index in given):
        return list(range(len(given)))
    return [-1 if index is None else index for index in given]


def _vector(embedding: str | list[float]) -> NDArray[np.float32]:
    """The numbers of one vector.

    Raises:
        ValueError: It is text that is not base64 of whole float32 numbers.
    """
    if isinstance(embedding, str):
        return np.frombuffer(b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    with np.errstate(over="ignore"):
        return np.array(embedding, dtype=np.float64).astype(np.float32)
