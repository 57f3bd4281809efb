"""The keyed form of a trimmed tool result: what is left out is marked, and the identifiers stay.

An elision keeps a short head and tail, and between them the pieces that carry identifiers the conversation
may need next; a placeholder lists some of what it hides. Nothing is paraphrased: every kept piece stands in
the original, in order, and every gap says how many characters it hides.
"""

import heapq
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pinch_server.core import trimming
from pinch_server.core.cuts import head_end, tail_start
from pinch_server.core.identifiers import identifiers, marked, words
from pinch_server.core.keyed_shape import END_CHARS, GAP_CHARS, recognised_step
from pinch_server.core.limits import BOUNDS, PLAIN_KEPT_CHARS
from pinch_server.core.trimming import Step, marker, placeholder

Weigh = Callable[[str], float]
"""What an identifier is worth to the conversation; 0 for one it does not need."""

_PIECE_CHARS: Final = 400
"""The longest piece that is kept or left as one: a line, or a stretch of a longer one."""
_BLOCK_CHARS: Final = 200
"""Short lines are kept with those that follow, up to about this many characters."""
_NEAR_CHARS: Final = 80
"""How far a cut moves to a break."""
_LEAST_SHARE: Final = 240
_LONGEST_LIST: Final = int(BOUNDS["placeholder_chars"].high) + 1
_MENTIONED: Final = "; mentioned: "
_ERROR: Final = re.compile(r"(?:error|exception|traceback|fatal|panic|fail(?:ed|ure)?)\b")
_ERRORS_SEEN: Final = 64
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
    least = min(_LEAST_SHARE, room // len(texts))
    shared = room - least * len(texts)
    return [
        elide_text(text, weigh, least + shared * len(text) // total) if text.strip() else text
        for text in texts
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
            listing = _listing(tool, _mentions("\n".join(texts), weigh, min(chars, len(text) // 2)))
            replacement = listing if len(listing) < len(text) else bare
            is_named = True
        omitted.append(replacement if len(replacement) < len(text) and text.strip() else text)
    return omitted


def _listing(tool: str, mentioned: Sequence[str]) -> str:
    bare = placeholder(tool)
    return f"{bare[:-1]}{_MENTIONED}{', '.join(mentioned)}]" if mentioned else bare


def step_of(tool: str, texts: Sequence[str]) -> Step:
    """How far these texts already are by their own shape, in this form or the plain one."""
    bare = placeholder(tool)
    listing = next((index for index, text in enumerate(texts) if _is_listing(bare, text)), None)
    if listing is not None:
        texts = [*texts[:listing], bare, *texts[listing + 1 :]]
    plain = trimming.step_of(tool, texts)
    return plain if plain is not Step.WHOLE else recognised_step(texts)


def _is_listing(bare: str, text: str) -> bool:
    """Whether a text is the placeholder `bare` with a list of identifiers, and nothing else."""
    named = bare[:-1] + _MENTIONED
    if not (text.startswith(named) and text.endswith("]") and len(text) <= len(named) + _LONGEST_LIST):
        return False
    return all(identifiers(item) == [item] for item in text[len(named) : -1].split(", "))


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
    head = _line_cut(text, head_end(text, min(END_CHARS, kept_chars // 4)), forward=False)
    tail = _line_cut(text, tail_start(text, len(text) - min(END_CHARS, kept_chars // 4)), forward=True)
    found = words(text[head:tail])
    seen = {*words(text[:head]), *words(text[tail:])}
    worth = {word: weigh(word) for word in marked(found) if word not in seen}
    worth = {word: value for word, value in worth.items() if value > 0}
    pieces = _pieces(text, head, tail, worth, found)
    chosen = _choose(text, pieces, worth, (head, tail), kept_chars - head - (len(text) - tail))
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
        near = text[position : position + _NEAR_CHARS]
        at = near.find("\n")
        if at < 0:
            match = _BREAK.search(near)
            at = match.start() if match else -1
        return position if at < 0 else tail_start(text, position + at + 1)
    near = text[max(0, position - _NEAR_CHARS) : position]
    at = near.rfind("\n")
    if at < 0:
        at = max((match.start() for match in _BREAK.finditer(near)), default=-1)
    return position if at < 0 else head_end(text, position - len(near) + at + 1)


def _pieces(text: str, start: int, end: int, worth: dict[str, float], found: Sequence[str]) -> list[_Piece]:
    """The lines between head and tail that hold a worthy word or an error, and what follows short ones.

    Only they are looked at: a text of a megabyte has too many lines to weigh each. Long lines come in
    stretches on a grid from their start; where those are cut for good is settled when they are chosen.
    """
    hits = _hits(text, start, worth, found)
    hits.extend((at, None) for at in _errors(text, start, end))
    hits.sort(key=lambda hit: hit[0])
    pieces: list[_Piece] = []
    stop, held, has_error = start, set[str](), False
    first = start
    for at, word in hits:
        if at >= stop:
            if held or has_error:
                pieces.append(_Piece(first, stop, frozenset(held), _ERROR_WEIGHT if has_error else 0.0))
            first, stop = _around(text, at, stop, end)
            held, has_error = set(), False
        if word is None:
            has_error = True
        else:
            held.add(word)
    if held or has_error:
        pieces.append(_Piece(first, stop, frozenset(held), _ERROR_WEIGHT if has_error else 0.0))
    return pieces


def _around(text: str, at: int, floor: int, end: int) -> tuple[int, int]:
    """The piece that holds position `at`: a block of short lines, or a stretch of a long one."""
    first = max(floor, text.rfind("\n", floor, at) + 1)
    stop = text.find("\n", at, end) + 1 or end
    if stop - first > _PIECE_CHARS:
        first += (at - first) // _PIECE_CHARS * _PIECE_CHARS
        return first, min(stop, first + _PIECE_CHARS)
    while stop - first < _BLOCK_CHARS and stop < end:
        after = text.find("\n", stop, end) + 1 or end
        if after - first > _PIECE_CHARS:
            break
        stop = after
    return first, stop


def _hits(
    text: str, start: int, worth: dict[str, float], found: Sequence[str]
) -> list[tuple[int, str | None]]:
    """Where each worthy word stands, given all words in order of appearance."""
    hits: list[tuple[int, str | None]] = []
    position = start
    for word in found:
        if word in worth:
            at = text.find(word, position)
            hits.append((at, word))
            position = at + len(word)
    return hits


def _errors(text: str, start: int, end: int) -> Iterator[int]:
    """Where the first words of failure stand; a log of nothing else is not worth more for each."""
    lowered = text.lower()
    if len(lowered) == len(text):
        for found in islice(_ERROR.finditer(lowered, start, end), _ERRORS_SEEN):
            yield found.start()


def _settle(text: str, position: int, head: int, tail: int) -> int:
    """Where a piece that begins or ends near `position` is cut: at a line's end, else at a break before."""
    if position in (head, tail):
        return position
    position = head_end(text, position)
    is_line_end = position > 0 and text[position - 1] == "\n"
    return max(head, position if is_line_end else _line_cut(text, position, forward=False))


def _choose(
    text: str, pieces: Sequence[_Piece], worth: dict[str, float], middle: tuple[int, int], room: int
) -> list[tuple[int, int]]:
    """The pieces most worth their length, each identifier counted once; lazily greedy."""
    known: set[str] = set()

    def value(piece: _Piece) -> float:
        # The order of a set is not the same in every process, and so is a sum of floats; fsum's is.
        total = math.fsum(worth[word] for word in piece.words if word not in known) + piece.bonus
        return total / (piece.end - piece.start + GAP_CHARS)

    heap = [(-value(piece), index) for index, piece in enumerate(pieces)]
    heapq.heapify(heap)
    chosen: list[tuple[int, int]] = []
    while heap and room > 0:
        claimed, index = heapq.heappop(heap)
        piece = pieces[index]
        length = piece.end - piece.start
        if length + GAP_CHARS - (_NEAR_CHARS if length == _PIECE_CHARS else 0) > room:
            continue
        current = -value(piece)
        if heap and claimed < current and current > heap[0][0]:
            heapq.heappush(heap, (current, index))
            continue
        start, end = _settle(text, piece.start, *middle), _settle(text, piece.end, *middle)
        cost = end - start + GAP_CHARS
        if current < 0 and start < end and cost <= room:
            chosen.append((start, end))
            known.update(piece.words)
            room -= cost
    return sorted(chosen)


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans whose gap costs more than it hides become one."""
    joined = [spans[0]]
    for start, end in spans[1:]:
        last_start, last_end = joined[-1]
        if start - last_end <= GAP_CHARS:
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
