"""Edits as byte ranges: sound ones are accepted and applied, each fault is named."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from tests.checker.check import apply, check_edits

BODY = '{"messages":[{"role":"tool","content":"é old"},{"role":"tool","content":"other"}]}'.encode()


def edit(old: bytes, new: bytes, **changes: Any) -> dict[str, Any]:
    """A sound edit that replaces the first `old`, with changes laid over it."""
    made = {
        "offset": BODY.index(old),
        "length": len(old),
        "replacement": new.decode(),
        "sha256": hashlib.sha256(old).hexdigest(),
    }
    return made | changes


FIRST = '"é old"'.encode()


def test_sound_edits() -> None:
    """Ascending edits on whole strings are accepted and give the new body by slices alone."""
    edits = [edit(FIRST, b'"a"'), edit(b'"other"', b'"b"')]
    assert check_edits(BODY, edits) == []
    assert apply(BODY, edits) == b'{"messages":[{"role":"tool","content":"a"},{"role":"tool","content":"b"}]}'


def test_protobuf_spelling() -> None:
    """Bytes may be raw or base64, and the digest may go by the wire's name."""
    digest = hashlib.sha256(FIRST).digest()
    wire = edit(FIRST, b'"a"', replacement=base64.b64encode(b'"a"').decode(), sha256=None)
    del wire["sha256"]
    for spelling in (digest, base64.b64encode(digest).decode()):
        assert check_edits(BODY, [wire | {"replaced_sha256": spelling}]) == []
    assert apply(BODY, [wire]) == apply(BODY, [edit(FIRST, b'"a"')])


@pytest.mark.parametrize(
    ("edits", "word"),
    [
        ([edit(FIRST, b'"a"', sha256="00")], "sha256"),
        ([edit(b'"other"', b'"b"'), edit(FIRST, b'"a"')], "before the end"),
        ([edit(FIRST, b'"a"', length=3)], "does not stand"),
        ([edit(FIRST, b'"a"', offset=10_000)], "spans"),
        ([edit(FIRST, b'"a"', length=0)], "spans"),
        ([edit(FIRST, b'"a')], "no JSON"),
        ([edit(FIRST, b'["a"]')], "puts a array"),
        ([edit(FIRST, b'"a" ')], "spacing"),
        ([edit(FIRST, FIRST)], "changes nothing"),
    ],
)
def test_faults_are_named(edits: list[dict[str, Any]], word: str) -> None:
    """An edit that no client could apply safely is refused, with the reason."""
    assert any(word in found for found in check_edits(BODY, edits))
