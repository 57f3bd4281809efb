"""A byte-level JSON scanner that keeps what a parser throws away: spans, order, duplicate keys.

It never recurses, so that a body nested a hundred thousand deep is only a long one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

Kind = Literal["object", "array", "string", "number", "literal"]
Path = tuple[str | int, ...]

_TOKEN = re.compile(
    rb"[ \t\n\r]*+(?:"
    rb'(?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")'
    rb"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    rb"|(?P<literal>true|false|null)"
    rb"|(?P<mark>[\[\]{},:]))"
)
_SPACE = re.compile(rb"[ \t\n\r]*+")
_LARGE_BYTES: Final = 4_096


class NotJson(ValueError):
    """The bytes are no JSON document (RFC 8259, strictly: no NaN, no byte order mark)."""


@dataclass(slots=True, eq=False)
class Node:
    """One JSON value and the bytes it was written with.

    `start` and `end` are byte offsets into `body`; `step` is the key or index under `parent`; `key` is the
    token of the key it stands under in an object.
    """

    kind: Kind
    body: bytes
    start: int
    end: int
    parent: Node | None = None
    step: str | int = 0
    items: list[Node] = field(default_factory=list)
    key: Node | None = None

    @property
    def raw(self) -> bytes:
        """The exact bytes of this value."""
        return self.body[self.start : self.end]

    @property
    def text(self) -> str:
        """The decoded string: lone surrogates stay lone, pairs become one code point."""
        if self.kind != "string":
            raise TypeError(f"a {self.kind} has no text")
        raw = self.raw
        if b"\\" not in raw:
            return raw[1:-1].decode("utf-8")
        decoded = json.loads(raw.decode("utf-8"))
        assert isinstance(decoded, str)
        return decoded

    @property
    def path(self) -> Path:
        """The keys and indices from the root to here."""
        steps: list[str | int] = []
        node = self
        while node.parent is not None:
            steps.append(node.step)
            node = node.parent
        return tuple(reversed(steps))

    def members(self) -> dict[str, Node]:
        """An object's members as every parser reads them: of duplicate keys the last one counts."""
        return {str(item.step): item for item in self.items} if self.kind == "object" else {}

    def get(self, key: str) -> Node | None:
        """The value under `key`, or None when this is no object or has no such key."""
        if self.kind == "object":
            for item in reversed(self.items):
                if item.step == key:
                    return item
        return None

    def string(self, key: str) -> str | None:
        """The text under `key` when there is a string."""
        found = self.get(key)
        return found.text if found is not None and found.kind == "string" else None

    def elements(self) -> list[Node]:
        """An array's elements; nothing for any other kind."""
        return self.items if self.kind == "array" else []


@dataclass(frozen=True, slots=True)
class StringToken:
    """A string as written: its path (a key token has the path of its value), span and decoded text."""

    path: Path
    start: int
    end: int
    text: str
    is_key: bool


def scan(body: bytes) -> Node:
    """Reads one JSON document; nobody may change the nodes, for a large body's are given to all who ask next.

    Raises:
        NotJson: the bytes are not valid UTF-8 or not one JSON value.
    """
    return _scanned(body) if len(body) >= _LARGE_BYTES else _scanned.__wrapped__(body)


# The checks of a conversation read the same few bodies: what came, what left, what left again.
@lru_cache(maxsize=4)
def _scanned(body: bytes) -> Node:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    return _Scanner(body).run()


class _Scanner:
    """Builds the tree; `expect` says what may come next, as a JSON reader's state does."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.open: list[Node] = []
        self.root: Node | None = None
        self.key: Node | None = None
        self.expect = "value"

    def run(self) -> Node:
        at = 0
        while self.expect != "end":
            found = _TOKEN.match(self.body, at)
            if found is None or found.lastgroup is None:
                raise NotJson(f"unexpected byte at {at}")
            start, at = found.span(found.lastgroup)
            self._take(found.lastgroup, start, at)
        rest = _SPACE.match(self.body, at)
        if rest is None or rest.end() != len(self.body):
            raise NotJson(f"something follows the document at byte {at}")
        assert self.root is not None
        return self.root

    def _take(self, group: str, start: int, end: int) -> None:
        mark = self.body[start:end] if group == "mark" else b""
        if mark in (b"]", b"}"):
            self._close(mark, end)
        elif mark == b":" and self.expect == "colon":
            self.expect = "value"
        elif mark == b"," and self.expect == "comma or end":
            self.expect = "key" if self.open[-1].kind == "object" else "value"
        elif group == "string" and self.expect in ("key", "key or end"):
            self.key = Node("string", self.body, start, end, self.open[-1])
            self.expect = "colon"
        elif self.expect in ("value", "value or end") and mark not in (b":", b","):
            self._value(group, mark, start, end)
        else:
            raise NotJson(f"expected {self.expect} at byte {start}")

    def _value(self, group: str, mark: bytes, start: int, end: int) -> None:
        kinds: dict[str, Kind] = {"string": "string", "number": "number", "literal": "literal"}
        kind: Kind = "object" if mark == b"{" else "array" if mark == b"[" else kinds[group]
        node = Node(kind, self.body, start, end)
        if self.open:
            above = self.open[-1]
            node.parent = above
            if above.kind == "object":
                assert self.key is not None
                node.step = self.key.text
                node.key = self.key
            else:
                node.step = len(above.items)
            above.items.append(node)
        else:
            self.root = node
        if mark:
            self.open.append(node)
            self.expect = "key or end" if kind == "object" else "value or end"
        else:
            self.expect = "comma or end" if self.open else "end"

    def _close(self, mark: bytes, end: int) -> None:
        kind = "object" if mark == b"}" else "array"
        may_end = ("comma or end", "key or end" if kind == "object" else "value or end")
        if not self.open or self.open[-1].kind != kind or self.expect not in may_end:
            raise NotJson(f"expected {self.expect} at byte {end - 1}")
        self.open.pop().end = end
        self.expect = "comma or end" if self.open else "end"


def nodes(root: Node) -> Iterator[Node]:
    """Every value in document order, the root first."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.items))


def string_leaves(root: Node) -> Iterator[Node]:
    """String values at or under `root` in document order, without those that a later duplicate key hides."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.kind == "string":
            yield node
        under = list(node.members().values()) if node.kind == "object" else node.items
        waiting.extend(sorted(under, key=lambda item: -item.start))


def string_tokens(body: bytes) -> Iterator[StringToken]:
    """Every string token of a document, keys included, in document order.

    Raises:
        NotJson: see `scan`.
    """
    for node in nodes(scan(body)):
        if node.key is not None:
            yield StringToken(node.path, node.key.start, node.key.end, node.key.text, True)
        if node.kind == "string":
            yield StringToken(node.path, node.start, node.end, node.text, False)
