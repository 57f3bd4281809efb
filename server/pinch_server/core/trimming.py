"""The plain form of a trimmed tool result: head and tail around a marker, or a placeholder.

Each function takes the texts of one result, part by part, and gives as many texts back: nothing is joined,
moved or removed, and a part that would not get shorter stays as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate
from typing import Final

import regex

from pinch_server.core.cuts import head_end, tail_start
from pinch_server.core.limits import PLAIN_KEPT_CHARS

SIDE_CHARS: Final = PLAIN_KEPT_CHARS // 2
"""Characters that stay at each end of an elided result."""
_TOOL_NAME_CHARS: Final = 120
_BREAKS: Final = regex.compile(r"[\s\p{C}]+")
_SLACK: Final = 40
"""How far a kept end may exceed its share: a part that a marker would have lengthened stays whole."""
_GAPS_TRIED: Final = 64
_MARKER: Final = regex.compile(r"\[\.\.\.([0-9]{1,3}(?:,[0-9]{3})*) chars trimmed\.\.\.\]")


class Step(IntEnum):
    """How far a result has been trimmed; a result only ever descends."""

    WHOLE = 0
    ELIDED = 1
    OMITTED = 2


def marker(removed: int) -> str:
    """The note that stands for `removed` characters."""
    return f"[...{removed:,} chars trimmed...]"


def elide(texts: Sequence[str]) -> list[str]:
    """Keeps the first and the last 1,500 characters of the texts taken together.

    Each part that loses characters says how many of its own; both cuts move inward only out of a grapheme
    cluster or an escape sequence.

    Args:
        texts: The texts of one result, in order.

    Returns:
        As many texts, each the old one or a shorter one.
    """
    total = sum(map(len, texts))
    elided: list[str] = []
    offset = 0
    for text in texts:
        head_limit = min(max(SIDE_CHARS - offset, 0), len(text))
        tail_limit = min(max(total - SIDE_CHARS - offset, 0), len(text))
        offset += len(text)
        if head_limit >= tail_limit:
            elided.append(text)
            continue
        head = head_end(text, head_limit)
        tail = tail_start(text, tail_limit)
        pieces = (text[:head], marker(tail - head), text[tail:])
        shorter = "\n\n".join(piece for piece in pieces if piece)
        elided.append(shorter if len(shorter) < len(text) else text)
    return elided


def omit(tool: str, texts: Sequence[str]) -> list[str]:
    """Replaces a result by one placeholder that names its tool.

    The placeholder takes the place of the first text that is longer than it; further texts become a marker.

    Args:
        tool: The tool's name.
        texts: The texts of one result, in order.

    Returns:
        As many texts, each the old one or a shorter one.
    """
    omitted: list[str] = []
    named = placeholder(tool)
    is_named = False
    for text in texts:
        replacement = text
        if is_named:
            replacement = marker(len(text))
        elif text.strip() and len(named) < len(text):
            replacement = named
            is_named = True
        omitted.append(replacement if len(replacement) < len(text) and text.strip() else text)
    return omitted


def placeholder(tool: str) -> str:
    """The one line that stands for a whole result of `tool`."""
    return f"[{_BREAKS.sub(' ', tool).strip()[:_TOOL_NAME_CHARS] or 'tool'}: result omitted]"


def step_of(tool: str, texts: Sequence[str]) -> Step:
    """How far these texts already are by their own shape.

    Only texts that have exactly the shape of this module's output count: whatever else resembles a marker is
    ordinary text.
    """
    if _is_omitted(placeholder(tool), texts):
        return Step.OMITTED
    return Step.ELIDED if _is_elided(texts) else Step.WHOLE


def _is_omitted(named: str, texts: Sequence[str]) -> bool:
    """Whether the texts are a placeholder, short texts before it, and markers or short texts after it."""
    if named not in texts:
        return False
    at = texts.index(named)
    return all(len(text) <= len(named) or not text.strip() for text in texts[:at]) and all(
        _is_removed(text) for text in texts[at + 1 :]
    )


def _is_removed(text: str) -> bool:
    """Whether a text is a marker alone, or one that a marker could not have replaced."""
    return not text.strip() or len(text) <= len(marker(len(text))) or _MARKER.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class _Gap:
    """A marker that a text may have been cut around: what stands before and after it, and what it claims."""

    part: int
    head: int
    tail: int
    removed: int


def _is_elided(texts: Sequence[str]) -> bool:
    """Whether the texts are a head, gaps, and a tail as `elide` writes them."""
    gaps = [gap for index, text in enumerate(texts) for gap in _gaps(index, text)]
    if not gaps:
        return False
    before = list(accumulate(map(len, texts), initial=0))
    total = before[-1]
    kept_whole = list(accumulate((not _is_removed(text) for text in texts), initial=0))
    for first in gaps[:_GAPS_TRIED]:
        head = before[first.part] + first.head
        if head > SIDE_CHARS + _SLACK:
            continue
        for last in gaps[-_GAPS_TRIED:]:
            tail = total - before[last.part + 1] + last.tail
            if tail > SIDE_CHARS + _SLACK:
                continue
            if first is last:
                removed = first.removed
            elif first.part < last.part and first.tail == 0 == last.head:
                if kept_whole[last.part] > kept_whole[first.part + 1]:
                    continue
                between = range(first.part + 1, last.part)
                removed = first.removed + last.removed + sum(_claimed(texts[index]) for index in between)
            else:
                continue
            if head + removed + tail > PLAIN_KEPT_CHARS:
                return True
    return False


def _gaps(part: int, text: str) -> Iterator[_Gap]:
    for match in _MARKER.finditer(text):
        head = _without_break(text[: match.start()], at_end=True)
        tail = _without_break(text[match.end() :], at_end=False)
        if head is not None and tail is not None:
            yield _Gap(part, len(head), len(tail), int(match[1].replace(",", "")))


def _claimed(text: str) -> int:
    match = _MARKER.fullmatch(text)
    return int(match[1].replace(",", "")) if match else 0


def _without_break(piece: str, *, at_end: bool) -> str | None:
    """`piece` without the blank line that joins it to a marker, or None where that line is missing."""
    if not piece:
        return piece
    if at_end:
        return piece[:-2] if piece.endswith("\n\n") else None
    return piece[2:] if piece.startswith("\n\n") else None
