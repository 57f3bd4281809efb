"""C6: edits are applied by slices, and only after every one of them has been checked."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch import ChatMessage, ContentPart, Edit, Image, ReplyError
from pinch.edits import apply_byte_edits, apply_part_edits


@st.composite
def pieces(draw: st.DrawFn) -> list[tuple[bytes, bytes, bytes]]:
    """A body in pieces: kept bytes, then old bytes, then the JSON value that replaces them."""
    values = st.text().map(lambda text: json.dumps(text).encode())
    return draw(st.lists(st.tuples(st.binary(), st.binary(min_size=1), values), max_size=8))


def made_of(parts: list[tuple[bytes, bytes, bytes]]) -> tuple[bytes, list[Edit], bytes]:
    body, expected, edits = b"", b"", []
    for kept, old, new in parts:
        offset = len(body) + len(kept)
        edits.append(
            Edit(offset=offset, length=len(old), replacement=new, replaced_sha256=sha256(old).digest())
        )
        body += kept + old
        expected += kept + new
    return body, edits, expected


@given(pieces(), st.binary())
def test_every_byte_outside_the_edits_stays(parts: list[tuple[bytes, bytes, bytes]], tail: bytes) -> None:
    """Any ascending edits, touching ones too, replace exactly their ranges."""
    body, edits, expected = made_of(parts)
    assert apply_byte_edits(body + tail, edits) == expected + tail


@given(pieces().filter(lambda parts: any(old for _, old, _ in parts)), st.data())
def test_a_changed_body_is_refused(parts: list[tuple[bytes, bytes, bytes]], data: st.DataObject) -> None:
    """Edits that were made for another body are refused."""
    body, edits, _ = made_of(parts)
    edit = data.draw(st.sampled_from([edit for edit in edits if edit.length]))
    place = data.draw(st.integers(edit.offset, edit.offset + edit.length - 1))
    other = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
    with pytest.raises(ReplyError, match="other bytes"):
        apply_byte_edits(other, edits)


def part_edit(message: int, part: int, old: bytes, new: str = "new") -> Edit:
    return Edit(
        message_index=message,
        part_index=part,
        replaced_sha256=sha256(old).digest(),
        replacement_part=ContentPart(text=new),
    )


OLD_SHA256 = sha256(b"old").digest()
CHAT = [
    ChatMessage(role="user", content=[ContentPart(text="é")]),
    ChatMessage(
        role="tool",
        content=[
            ContentPart(text="old"),
            ContentPart(image=Image(media_type="image/png", data=b"PNG")),
            ContentPart(image=Image(url="https://example.org/a.png")),
            ContentPart(opaque_json=b"{}"),
        ],
    ),
    ChatMessage(role="tool"),
]


def test_parts_of_every_kind_can_be_replaced() -> None:
    """Text is recognised by its UTF-8, an image by its bytes or its address, an opaque block by its JSON."""
    edits = [
        part_edit(0, 0, "é".encode()),
        part_edit(1, 0, b"old"),
        part_edit(1, 1, b"PNG"),
        part_edit(1, 2, b"https://example.org/a.png"),
        part_edit(1, 3, b"{}"),
    ]
    edited = apply_part_edits(CHAT, edits)
    assert [[part.text for part in message.content] for message in edited] == [["new"], ["new"] * 4, []]
    assert edited[2] is CHAT[2]
    assert CHAT[1].content[0].text == "old"


@pytest.mark.parametrize(
    "edits",
    [
        [part_edit(3, 0, b"old")],
        [part_edit(-1, 0, b"old")],
        [part_edit(1, 4, b"old")],
        [part_edit(1, -1, b"old")],
        [part_edit(2, 0, b"")],
        [part_edit(1, 0, b"other")],
        [part_edit(1, 0, b"old"), part_edit(1, 0, b"old")],
        [part_edit(1, 1, b"PNG"), part_edit(1, 0, b"old")],
        [part_edit(1, 0, b"old"), part_edit(0, 0, "é".encode())],
        [
            Edit(
                message_index=1,
                replaced_sha256=sha256(b"old").digest(),
                replacement_part=ContentPart(text=""),
            )
        ],
        [Edit(message_index=1, part_index=0, replaced_sha256=OLD_SHA256)],
    ],
    ids=[
        "no such message",
        "negative message",
        "no such part",
        "negative part",
        "message without parts",
        "wrong hash",
        "twice the same",
        "parts descending",
        "messages descending",
        "no part index",
        "no replacement",
    ],
)
def test_part_edits_that_do_not_fit_are_refused(edits: list[Edit]) -> None:
    """An edit that is out of order, out of range, incomplete or made for another part is refused."""
    with pytest.raises(ReplyError):
        apply_part_edits(CHAT, edits)


@pytest.mark.parametrize(
    "replacement", [b"", b"x", b"\xff", b'"a" "b"', b'"a', b"[" * 100_000, b'"a",', b'a"'], ids=repr
)
def test_only_a_json_value_may_be_put_into_a_body(replacement: bytes) -> None:
    """A replacement that is not one JSON value would break the body, and is refused."""
    edit = Edit(offset=1, length=5, replacement=replacement, replaced_sha256=sha256(b'"old"').digest())
    with pytest.raises(ReplyError, match="JSON"):
        apply_byte_edits(b'["old"]', [edit])


def test_nothing_can_be_put_where_nothing_was() -> None:
    """An edit that replaces no byte would be an insertion, and is refused."""
    edit = Edit(offset=1, length=0, replacement=b'"new"', replaced_sha256=sha256(b"").digest())
    with pytest.raises(ReplyError, match="nothing"):
        apply_byte_edits(b"[]", [edit])


@pytest.mark.parametrize(
    "edit",
    [
        part_edit(-1, 0, b"old"),
        Edit(message_index=0, part_index=0, replaced_sha256=OLD_SHA256, replacement_part=ContentPart()),
    ],
    ids=["counted from the end", "empty replacement"],
)
def test_a_refused_part_edit_leaves_the_callers_messages_alone(edit: Edit) -> None:
    """A message counted from the end or a replacement without content is refused; nothing is changed."""
    chat = [ChatMessage(role="tool", content=[ContentPart(text="old")])]
    with pytest.raises(ReplyError):
        apply_part_edits(chat, [edit])
    assert chat == [ChatMessage(role="tool", content=[ContentPart(text="old")])]
