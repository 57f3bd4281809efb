"""Edits that no client may apply, made out of right ones: each breaks one check of rule C6 or C8."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final

from pinch.v1 import prune_pb2 as pb

_BEYOND: Final = 2**31 - 1

_Spoiler = Callable[[pb.PruneRequest, pb.PruneResponse], None]


class UnspoiledError(Exception):
    """A reply whose edits cannot be spoiled in the way that was asked for; the text says why."""


def spoiled(kind: str, request: pb.PruneRequest, reply: pb.PruneResponse) -> pb.PruneResponse:
    """The reply with its edits spoiled.

    Args:
        kind: One of `SPOILERS`.
        request: What the reply answers.
        reply: A right reply; it is changed.

    Raises:
        UnspoiledError: The reply has fewer edits than this kind needs.
    """
    needed = _NEEDED.get(kind, 1)
    if len(reply.edits) < needed:
        raise UnspoiledError(f"{kind} needs {needed} edits; this reply has {len(reply.edits)}")
    SPOILERS[kind](request, reply)
    return reply


def _wrong_range(request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    last = reply.edits[-1]
    body = request.body.json
    last.length = len(body) - last.offset + 1
    # So for whoever cuts a slice at the end of the body, only the check of the range can tell.
    last.replaced_sha256 = sha256(body[last.offset :]).digest()
    last.part_index = _BEYOND


def _negative(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    first = reply.edits[0]
    first.offset, first.message_index = -1, -1


def _overflow(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    last = reply.edits[-1]
    # Their sum is below zero for whoever adds in 64 bits without a look.
    last.offset = last.length = 2**63 - 1
    last.message_index = _BEYOND


def _nothing(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    first = reply.edits[0]
    first.length, first.replaced_sha256 = 0, sha256(b"").digest()
    first.ClearField("part_index")


def _overlapping(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    reply.edits.insert(0, reply.edits[0])


def _descending(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    backwards = list(reply.edits)[::-1]
    del reply.edits[:]
    reply.edits.extend(backwards)


def _wrong_hash(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    # The last one: a client that applies while it checks has then changed something.
    last = reply.edits[-1]
    last.replaced_sha256 = bytes(byte ^ 0xFF for byte in last.replaced_sha256)


def _short_hash(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    last = reply.edits[-1]
    last.replaced_sha256 = last.replaced_sha256[:-1]


def _no_hash(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    reply.edits[-1].ClearField("replaced_sha256")


def _not_json(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    last = reply.edits[-1]
    last.replacement = b'"unclosed'
    last.ClearField("replacement_part")


def _not_utf8(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    last = reply.edits[-1]
    last.replacement = b'"\xff"'
    last.ClearField("replacement_part")


def _no_replacement(_request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    last = reply.edits[-1]
    last.ClearField("replacement")
    last.ClearField("replacement_part")


def _made_up(request: pb.PruneRequest, reply: pb.PruneResponse) -> None:
    """One edit that fits: for a dry run, which must be answered with none."""
    del reply.edits[:]
    if request.WhichOneof("conversation") == "body":
        body = request.body.json
        reply.edits.add(length=len(body), replacement=b"{}", replaced_sha256=sha256(body).digest())
        return
    if not (request.chat.messages and request.chat.messages[0].content):
        raise UnspoiledError("made-up needs a first message with content")
    text = request.chat.messages[0].content[0].text
    edit = reply.edits.add(part_index=0, replaced_sha256=sha256(text.encode()).digest())
    edit.replacement_part.text = "made up"


SPOILERS: Final[Mapping[str, _Spoiler]] = {
    "wrong-range": _wrong_range,
    "negative": _negative,
    "overflow": _overflow,
    "nothing": _nothing,
    "overlapping": _overlapping,
    "descending": _descending,
    "wrong-hash": _wrong_hash,
    "short-hash": _short_hash,
    "no-hash": _no_hash,
    "not-json": _not_json,
    "not-utf8": _not_utf8,
    "no-replacement": _no_replacement,
    "made-up": _made_up,
}
"""How edits can be spoiled, by the name that a caller asks with."""

_NEEDED: Final[Mapping[str, int]] = {"descending": 2, "made-up": 0}
