"""Where values stand in a JSON body that has been decoded: byte offsets for addresses.

A strict decoder finds them in one pass over the body. It refuses unpaired surrogates and gets slow where an
address is long, so a plain scanner, which builds nothing and never recurses, stands behind it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from pinch_server.core.conversation import Address
from pinch_server.formats.errors import NotUnderstoodError

Span: TypeAlias = tuple[int, int]
"""Offset and length of a value (bytes), the quotes of a string included."""
_Branches: TypeAlias = dict[str | int, Any]
"""Addresses as a tree: under each step a further tree, or the whole address where it ends."""
_Source: TypeAlias = bytes | msgspec.Raw

_LONGEST_ADDRESS: Final = 12
"""Steps of an address that are taken level by level, each a pass over the value; none of a dialect's own has
more, only strings deep inside a JSON result do."""
_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN: Final = re.compile(
    rb"[ \t\n\r,:]*+(?:"
    rb"(?P<string>" + _STRING + rb")|(?P<open>[\[{])|(?P<close>[\]}])|(?P<scalar>[^ \t\n\r,:\[\]{}\"]++))",
    re.DOTALL,
)
_BRACKET: Final = re.compile(
    rb"[^\"\[\]{}]*+(?:" + _STRING + rb"[^\"\[\]{}]*+)*+(?:(?P<open>[\[{])|[\]}])", re.DOTALL
)


def locate(body: bytes, addresses: Iterable[Address]) -> dict[Address, Span]:
    """Finds where values stand in a body.

    Args:
        body: A body that `decode` has read.
        addresses: Keys and indices from the root; none is the beginning of another.

    Returns:
        The place of each value that was found. Of duplicate keys the last one counts, as in `decode`.

    Raises:
        NotUnderstoodError: The body is not what `decode` reads.
    """
    branches: _Branches = {}
    longest = 0
    for address in addresses:
        longest = max(longest, len(address))
        branch = branches
        for key in address[:-1]:
            branch = branch.setdefault(key, {})
        branch[address[-1]] = address
    if longest <= _LONGEST_ADDRESS:
        found: dict[Address, Span] = {}
        try:
            _descend_body(body, branches, found)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            return found
    try:
        return scan(body, branches)
    except ValueError as error:
        raise NotUnderstoodError(str(error)) from None


def _descend_body(body: bytes, branches: _Branches, found: dict[Address, Span]) -> None:
    base = _start_of(body)
    for history_key, entries in branches.items():
        if not isinstance(history_key, str) or not _are_indices(entries):
            _descend(body, {history_key: entries}, base, found)
            continue
        # Three levels in one pass: nearly always the history is a list of objects.
        try:
            items: list[Any] = msgspec.json.decode(body, type=_history_type(history_key)).items
        except msgspec.ValidationError:
            _descend(body, {history_key: entries}, base, found)
            continue
        for index, below in entries.items():
            if index < len(items) and isinstance(below, dict):
                _descend_object(items[index], below, base, found)


@cache
def _history_type(history_key: str) -> Any:
    members = [("items", list[dict[str, msgspec.Raw]])]
    return msgspec.defstruct("History", members, rename={"items": history_key})


def _are_indices(below: _Branches | Address) -> bool:
    """Whether all that is sought stands in a list of objects."""
    return isinstance(below, dict) and all(
        isinstance(key, int) and isinstance(value, dict) for key, value in below.items()
    )


def _descend(source: _Source, below: _Branches | Address, base: int, found: dict[Address, Span]) -> None:
    if isinstance(below, tuple):
        found[below] = (_start_of(source) - base, len(memoryview(source)))
    elif all(isinstance(key, int) for key in below):
        items = msgspec.json.decode(source, type=list[msgspec.Raw])
        for key, further in below.items():
            if isinstance(key, int) and key < len(items):
                _descend(items[key], further, base, found)
    else:
        members = msgspec.json.decode(source, type=dict[str, msgspec.Raw])
        _descend_object(members, below, base, found)


def _descend_object(
    members: Mapping[str, msgspec.Raw], branches: _Branches, base: int, found: dict[Address, Span]
) -> None:
    for key, below in branches.items():
        if isinstance(key, str) and key in members:
            _descend(members[key], below, base, found)


def _start_of(source: _Source) -> int:
    """The address in memory of a buffer's first byte: a Raw is a view into the body it was decoded from."""
    start: int = np.frombuffer(source, dtype=np.uint8).__array_interface__["data"][0]
    return start


@dataclass(slots=True)
class _Open:
    """A container on the way to what is sought; `key` is set between a member's key and its value."""

    branches: _Branches
    is_object: bool
    index: int = -1
    key: str | None = None


def scan(body: bytes, branches: _Branches) -> dict[Address, Span]:
    """Finds the same places by reading the body token by token, whatever its strings hold.

    Args:
        body: Valid JSON.
        branches: The addresses as a tree, each under its last step.

    Raises:
        ValueError: The body ends too early.
    """
    found: dict[Address, Span] = {}
    stack: list[_Open] = []
    at = 0
    while True:
        match = _TOKEN.match(body, at)
        if match is None or match.lastgroup is None:
            raise ValueError("the body ends where a value should stand")
        at = match.end()
        if match.lastgroup == "close":
            stack.pop()
        elif match.lastgroup == "string" and stack and stack[-1].is_object and stack[-1].key is None:
            stack[-1].key = json.loads(match["string"])
            continue
        else:
            sought = _next_value(stack[-1]) if stack else branches
            start = match.start(match.lastgroup)
            if match.lastgroup == "open":
                if isinstance(sought, dict):
                    stack.append(_Open(sought, is_object=match["open"] == b"{"))
                    continue
                at = _end(body, at)
            if isinstance(sought, tuple):
                found[sought] = (start, at - start)
        if not stack:
            return found


def _next_value(above: _Open) -> _Branches | Address | None:
    """What is sought at or under the value that follows; None: nothing is."""
    above.index += 1
    step: str | int = above.key if above.key is not None else above.index
    above.key = None
    sought: _Branches | Address | None = above.branches.get(step)
    return sought


def _end(body: bytes, at: int) -> int:
    """Where the container ends whose opening bracket stands before `at`."""
    depth = 1
    while depth:
        match = _BRACKET.match(body, at)
        if match is None:
            raise ValueError("the body ends inside a list or an object")
        depth += 1 if match["open"] else -1
        at = match.end()
    return at
