"""The plain form of a trimmed tool result: head and tail around a marker, or a placeholder.

Each function takes the texts of one result, part by part, and gives as many texts back: nothing is joined,
moved or removed, and a part that would not get shorter stays as it is.
"""

from collections.abc import Iterable, Iterator, Sequence
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
_SHORT_MOVE: Final = 64
_LONG_MOVE: Final = 1_010
_LEAST_MARKER_CHARS: Final = len("[...1 chars trimmed...]")
_MARKER_END: Final = " chars trimmed...]"
_MARKER: Final = regex.compile(r"\[\.\.\.([1-9][0-9]{0,2}(?:,[0-9]{3})*) chars trimmed\.\.\.\]")


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
        if head_limit >= tail_limit or len(text) <= _LEAST_MARKER_CHARS:
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
    if not any(_MARKER_END in text for text in texts):
        return False
    before = list(accumulate(map(len, texts), initial=0))
    total = before[-1]
    kept_whole = list(accumulate((not _is_removed(text) for text in texts), initial=0))
    claimed = list(accumulate(map(_claimed, texts), initial=0))
    passed_before, passed_after = _passed_over(texts), _passed_over(reversed(texts))
    heads: list[tuple[_Gap, int]] = []
    tails: list[tuple[_Gap, int]] = []
    for part, text in enumerate(texts):
        for gap in _gaps(part, text):
            head, tail = before[part] + gap.head, total - before[part + 1] + gap.tail
            passed = passed_before[part] if gap.head == 0 else 0
            if len(heads) < _GAPS_TRIED and head - passed <= SIDE_CHARS + _SLACK:
                heads.append((gap, head))
            passed = passed_after[len(texts) - part - 1] if gap.tail == 0 else 0
            if tail - passed <= SIDE_CHARS + _SLACK:
                tails.append((gap, tail))
    return any(
        _are_ends(head, tail)
        and (removed := _removed_between(claimed, kept_whole, first, last)) is not None
        and head + removed + tail > PLAIN_KEPT_CHARS
        for first, head in heads
        for last, tail in tails[-_GAPS_TRIED:]
    )


def _are_ends(head: int, tail: int) -> bool:
    """Whether two kept lengths are those of an elision: both full, but for what a cut moved in.

    A cut moves in by a cluster or a short escape as a rule; only one of the two is allowed a long escape.
    """
    return max(head, tail) >= SIDE_CHARS - _SHORT_MOVE and min(head, tail) >= SIDE_CHARS - _LONG_MOVE


def _removed_between(
    claimed: Sequence[int], kept_whole: Sequence[int], first: _Gap, last: _Gap
) -> int | None:
    """What the gaps from `first` to `last` claim; None where something between them was kept."""
    if first == last:
        return first.removed
    if first.part >= last.part or first.tail > 0 or last.head > 0:
        return None
    if kept_whole[last.part] > kept_whole[first.part + 1]:
        return None
    return first.removed + last.removed + claimed[last.part] - claimed[first.part + 1]


def _passed_over(texts: Iterable[str]) -> list[int]:
    """For each position, the characters of the parts just before it that a marker would have lengthened."""
    passed = [0]
    for text in texts:
        passed.append(passed[-1] + len(text) if _is_removed(text) else 0)
    return passed


def _gaps(part: int, text: str) -> Iterator[_Gap]:
    """Every marker of a text that stands apart by blank lines, or at an end of it."""
    for match in _MARKER.finditer(text):
        start, end = match.span()
        has_break_before = start == 0 or text.startswith("\n\n", start - 2)
        has_break_after = end == len(text) or text.startswith("\n\n", end)
        if has_break_before and has_break_after:
            head, tail = max(0, start - 2), max(0, len(text) - end - 2)
            yield _Gap(part, head, tail, int(match[1].replace(",", "")))


def _claimed(text: str) -> int:
    match = _MARKER.fullmatch(text)
    return int(match[1].replace(",", "")) if match else 0
