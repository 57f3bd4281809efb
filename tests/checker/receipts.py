"""Edits as byte ranges: applying them, and whether each is what an edit may be."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from tests.checker.json_tokens import NotJson, nodes, scan

Edit = Mapping[str, Any]


def as_bytes(value: Any) -> bytes:
    """A replacement as bytes: bytes, JSON text, or base64 as protobuf's JSON form writes bytes."""
    if isinstance(value, bytes):
        return value
    text = str(value)
    if text[:1] in ('"', "{", "["):
        return text.encode("utf-8")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8")


def _is_digest(value: Any, data: bytes) -> bool:
    digest = hashlib.sha256(data)
    if isinstance(value, bytes):
        return value == digest.digest()
    return value in (digest.hexdigest(), base64.b64encode(digest.digest()).decode())


def apply(before: bytes, edits: Sequence[Edit]) -> bytes:
    """The body after ascending, non-overlapping edits."""
    pieces: list[bytes] = []
    at = 0
    for edit in edits:
        offset = int(edit.get("offset", 0))
        pieces += [before[at:offset], as_bytes(edit["replacement"])]
        at = offset + int(edit["length"])
    return b"".join([*pieces, before[at:]])


def check_edits(before: bytes, edits: Sequence[Edit]) -> list[str]:
    """What is wrong with a reply's byte ranges; empty when any client may apply them with slices.

    Each edit needs offset, length, replacement and replaced_sha256 (or sha256). It must stand on
    exactly one JSON value, a string or an image block, and put the same kind there.
    """
    try:
        spans = {(node.start, node.end): node for node in nodes(scan(before))}
    except NotJson as error:
        return [f"J: the body before is no JSON: {error}"]
    found: list[str] = []
    last = 0
    for number, edit in enumerate(edits):
        offset, length = int(edit.get("offset", 0)), int(edit.get("length", 0))
        end = offset + length
        if offset < 0 or length <= 0 or end > len(before):
            found.append(f"E: edit {number} spans {offset}-{end} of {len(before)} bytes")
            continue
        if offset < last:
            found.append(f"E: edit {number} starts at {offset}, before the end {last} of the one before")
        last = max(last, end)
        if not _is_digest(edit.get("replaced_sha256", edit.get("sha256")), before[offset:end]):
            found.append(f"E: edit {number}: sha256 is not that of the bytes it replaces")
        replacement = as_bytes(edit.get("replacement", ""))
        try:
            new = scan(replacement)
        except NotJson as error:
            found.append(f"E: edit {number}: the replacement is no JSON value: {error}")
            continue
        old = spans.get((offset, end))
        if old is None or old.kind not in ("string", "object"):
            found.append(f"E: edit {number} does not stand on one string or block")
        elif old.kind != new.kind:
            found.append(f"E: edit {number} puts a {new.kind} where a {old.kind} was")
        if (new.start, new.end) != (0, len(replacement)):
            found.append(f"E: edit {number}: the replacement has spacing around its value")
        if replacement == before[offset:end]:
            found.append(f"E: edit {number} changes nothing")
    return found
