"""The keyed form of a trimmed tool result: what is left out is marked, and the identifiers stay.

An elision keeps a short head and tail, and between them the pieces that carry identifiers the conversation
may need next; a placeholder lists some of what it hides. Nothing is paraphrased: every kept piece stands in
the original, in order, and every gap says how many characters it hides.
"""

import heapq
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pinch_server.core import trimming
from pinch_server.core.cuts import head_end, tail_start
from pinch_server.core.identifiers import identifiers, words
from pinch_server.core.limits import PLAIN_KEPT_CHARS
from pinch_server.core.trimming import Step, marker, placeholder

Weigh = Callable[[str], float]
"""What an identifier is worth to the conversation; 0 for one it does not need."""

_END_CHARS: Final = 500
"""Characters kept at each end of an elided text."""
_PIECE_CHARS: Final = 240
"""The longest piece that is kept or left as one: a line, or a stretch of a longer one."""
_GAP_CHARS: Final = 26
"""About what a gap costs; a shorter stretch between two kept pieces is kept too."""
_LEAST_SHARE: Final = 240
_MENTIONED: Final = "; mentioned: "
_GAP_LINE: Final = re.compile(r"(?m)^\[\.\.\.([0-9]{1,3}(?:,[0-9]{3})*)( chars trimmed)?\.\.\.\]$")
_ERROR: Final = re.compile(r"(?i)\b(?:error|exception|traceback|fatal|panic|fail(?:ed|ure)?)\b")
_ERROR_WEIGHT: Final = 2.0
_BREAK: Final = re.compile(r"[\s,;]")


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    words: frozenset[str]
    bonus: float


def elide(texts: Sequence[str], weigh: Weigh) -> list[str]:
    """Shortens the texts of one result to about 3,000 characters in all.

    Each text keeps its share of them by its length; short and blank ones stay whole.

    Args:
        texts: The texts of one result, in order.
        weigh: The worth of an identifier.

    Returns:
        As many texts, each the old one or a shorter one.
    """
    room, total = PLAIN_KEPT_CHARS, sum(map(len, texts))
    if total <= room:
        return list(texts)
    shares = {index: max(_LEAST_SHARE, room * len(text) // total) for index, text in enumerate(texts)}
    return [
        elide_text(text, weigh, shares[index]) if text.strip() else text for index, text in enumerate(texts)
    ]


def omit(tool: str, texts: Sequence[str], weigh: Weigh, chars: int) -> list[str]:
    """Replaces a result by one placeholder that names its tool and some of what it hides.

    Args:
        tool: The tool's name.
        texts: The texts of one result, in order.
        weigh: The worth of an identifier.
        chars: How long the list may be (characters).

    Returns:
        As many texts, each the old one or a shorter one.
    """
    bare = placeholder(tool)
    omitted: list[str] = []
    is_named = False
    for text in texts:
        replacement = text
        if is_named:
            replacement = marker(len(text))
        elif text.strip() and len(bare) < len(text):
            replacement = _listing(tool, _mentions("\n".join(texts), weigh, min(chars, len(text) // 2)))
            is_named = True
        omitted.append(replacement if len(replacement) < len(text) and text.strip() else text)
    return omitted


def _listing(tool: str, mentioned: Sequence[str]) -> str:
    bare = placeholder(tool)
    return f"{bare[:-1]}{_MENTIONED}{', '.join(mentioned)}]" if mentioned else bare


def step_of(tool: str, texts: Sequence[str]) -> Step:
    """How far these texts already are by their own shape, in this form or the plain one."""
    named = placeholder(tool)[:-1] + _MENTIONED
    for text in texts:
        if text.startswith(named) and text.endswith("]") and "\n" not in text:
            return Step.OMITTED
    plain = trimming.step_of(tool, texts)
    return plain if plain is not Step.WHOLE else _elided_step(texts)


def _elided_step(texts: Sequence[str]) -> Step:
    """ELIDED where the texts read as kept pieces and gaps as `elide_text` writes them."""
    kept = removed = 0
    for text in texts:
        gaps = _GAP_LINE.findall(text)
        is_cut = bool(gaps) and bool(gaps[0][1]) and not any(long for _, long in gaps[1:])
        kept += len(text)
        if is_cut:
            removed += sum(int(number.replace(",", "")) for number, _ in gaps)
    shares = PLAIN_KEPT_CHARS + _LEAST_SHARE * (len(texts) - 1)
    is_elided = removed > 0 and kept <= shares + _GAP_CHARS + 40 and kept + removed > PLAIN_KEPT_CHARS
    return Step.ELIDED if is_elided else Step.WHOLE


def short_marker(removed: int) -> str:
    """The note for every gap of a text but its first."""
    return f"[...{removed:,}...]"


def elide_text(text: str, weigh: Weigh, kept_chars: int) -> str:
    """Shortens one text to about `kept_chars` characters.

    Args:
        text: The text as it came.
        weigh: The worth of an identifier.
        kept_chars: What may stay of the text, markers aside (characters).

    Returns:
        The kept pieces in order with a marker on a line of its own for each gap, or the text itself when that
        would not be shorter.
    """
    if len(text) <= kept_chars:
        return text
    head = _line_cut(text, head_end(text, min(_END_CHARS, kept_chars // 4)), forward=False)
    tail = _line_cut(text, tail_start(text, len(text) - min(_END_CHARS, kept_chars // 4)), forward=True)
    held = frozenset(identifiers(text))
    pieces = _pieces(text, head, tail, held)
    known = set(words(text[:head])).union(words(text[tail:]))
    chosen = _choose(pieces, weigh, known, kept_chars - head - (len(text) - tail))
    spans = _joined([(0, head), *chosen, (tail, len(text))])
    shorter = _write(text, spans)
    return shorter if len(shorter) < len(text) else text


def _mentions(text: str, weigh: Weigh, chars: int) -> list[str]:
    """The identifiers that a placeholder of a text should mention, most worth a character first.

    Args:
        text: The text as it came.
        weigh: The worth of an identifier.
        chars: How long the list may be, separators included (characters).
    """
    worth = {word: weigh(word) for word in identifiers(text)}
    order = sorted(worth, key=lambda word: -worth[word] / (len(word) + 2))
    listed: list[str] = []
    room = chars
    for word in order:
        if worth[word] <= 0:
            break
        if len(word) + 2 <= room:
            listed.append(word)
            room -= len(word) + 2
    return listed


def _line_cut(text: str, position: int, *, forward: bool) -> int:
    """Moves a cut to a line break, else a space, within 80 characters, so that no word is cut in two."""
    if not 0 < position < len(text):
        return position
    if forward:
        near = text[position : position + 80]
        at = near.find("\n")
        if at < 0:
            match = _BREAK.search(near)
            at = match.start() if match else -1
        return position if at < 0 else tail_start(text, position + at + 1)
    near = text[max(0, position - 80) : position]
    at = near.rfind("\n")
    if at < 0:
        at = max((match.start() for match in _BREAK.finditer(near)), default=-1)
    return position if at < 0 else head_end(text, position - len(near) + at + 1)


def _pieces(text: str, start: int, end: int, held: frozenset[str]) -> list[_Piece]:
    """The stretch between head and tail as lines, long ones in stretches that end at a break."""
    pieces: list[_Piece] = []
    position = start
    while position < end:
        stop = text.find("\n", position, end) + 1 or end
        while position < stop:
            cut = stop
            if stop - position > _PIECE_CHARS:
                cut = _line_cut(text, head_end(text, position + _PIECE_CHARS), forward=False)
                if cut <= position:
                    cut = max(tail_start(text, position + _PIECE_CHARS), position + 1)
                cut = min(cut, stop)
            found = held.intersection(words(text[position:cut]))
            is_error = _ERROR.search(text, position, cut) is not None
            if found or is_error:
                pieces.append(_Piece(position, cut, found, _ERROR_WEIGHT if is_error else 0.0))
            position = cut
    return pieces


def _choose(pieces: Sequence[_Piece], weigh: Weigh, known: set[str], room: int) -> list[tuple[int, int]]:
    """The pieces most worth their length, each identifier counted once; lazily greedy."""
    worth: dict[str, float] = {}

    def value(piece: _Piece) -> float:
        total = piece.bonus
        for word in piece.words:
            if word not in known:
                if word not in worth:
                    worth[word] = weigh(word)
                total += worth[word]
        return total / (piece.end - piece.start + _GAP_CHARS)

    heap = [(-value(piece), index) for index, piece in enumerate(pieces)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and room > 0:
        claimed, index = heapq.heappop(heap)
        piece = pieces[index]
        cost = piece.end - piece.start + _GAP_CHARS
        if claimed >= 0 or cost > room:
            continue
        current = -value(piece)
        if heap and current > heap[0][0]:
            heapq.heappush(heap, (current, index))
            continue
        if current >= 0:
            continue
        chosen.append(index)
        known.update(piece.words)
        room -= cost
    return [(pieces[index].start, pieces[index].end) for index in sorted(chosen)]


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans whose gap costs more than it hides become one."""
    joined = [spans[0]]
    for start, end in spans[1:]:
        last_start, last_end = joined[-1]
        if start - last_end <= _GAP_CHARS:
            joined[-1] = (last_start, max(end, last_end))
        else:
            joined.append((start, end))
    return joined


def _write(text: str, spans: Sequence[tuple[int, int]]) -> str:
    written: list[str] = []
    position = 0
    is_first = True
    for start, end in spans:
        if start > position:
            note = marker(start - position) if is_first else short_marker(start - position)
            is_first = False
            before = "" if not written or written[-1].endswith("\n") else "\n"
            written.append(f"{before}{note}\n")
        written.append(text[start:end])
        position = end
    return "".join(written)
