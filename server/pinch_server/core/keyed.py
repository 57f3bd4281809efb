"""The keyed form of a trimmed tool result: what is left out is marked, and the identifiers stay.

An elision keeps a short head and tail, and between them the pieces that carry identifiers the conversation
may need next; a placeholder lists some of what it hides. Nothing is paraphrased: every kept piece stands in
the original, in order, and every gap says how many characters it hides.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pinch_server.core import trimming
from pinch_server.core.batch import LEAST_CHARS
from pinch_server.core.codes import Ints
from pinch_server.core.cuts import head_end, tail_start
from pinch_server.core.echoes import Echo, Echoes, silent
from pinch_server.core.identifiers import identifiers
from pinch_server.core.keyed_shape import END_CHARS, GAP_CHARS, recognised_step
from pinch_server.core.limits import BOUNDS, PLAIN_KEPT_CHARS
from pinch_server.core.pieces import NEAR_CHARS, Pieces
from pinch_server.core.trimming import Step, marker, placeholder
from pinch_server.core.worth import Weighed

Weigh = Callable[[str], Weighed]
"""Finds what the identifiers of a text are worth to the conversation."""

_LEAST_SHARE: Final = 240
_FIRST_GAP_CHARS: Final = 60
"""No less than what the first gap of an excerpt costs; later ones are counted with their pieces."""
_LONGEST_LIST: Final = int(BOUNDS["placeholder_chars"].high) + 1
_MENTIONED: Final = "; mentioned: "
_SEPARATOR: Final = ", "
_SIGNS: Final = (" chars trimmed...]", ": result omitted")
"""Whatever was trimmed holds one of these."""
_BREAK: Final = re.compile(r"[\s,;]")


def elide(texts: Sequence[str], weigh: Weigh, echo: Echo = silent) -> list[str]:
    """Shortens the texts of one result to about 3,000 characters in all.

    Each text keeps its share of them by its length; short ones stay whole, and so do blank ones, which take
    no share.

    Args:
        texts: The texts of one result, in order.
        weigh: The worth of an identifier.
        echo: The words that were said lately.

    Returns:
        As many texts, each the old one or a shorter one.
    """
    lengths = [len(text) for text in texts if text.strip()]
    room, total = PLAIN_KEPT_CHARS, sum(lengths)
    if total <= room:
        return list(texts)
    least = min(_LEAST_SHARE, room // len(lengths))
    shared = room - least * len(lengths)
    return [
        elide_text(text, weigh, echo, least + shared * len(text) // total) if text.strip() else text
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
            listing = _listing(tool, _mentions(texts, weigh, min(chars, len(text) // 2)))
            replacement = listing if len(listing) < len(text) else bare
            is_named = True
        omitted.append(replacement if len(replacement) < len(text) and text.strip() else text)
    return omitted


def _listing(tool: str, mentioned: Sequence[str]) -> str:
    bare = placeholder(tool)
    return f"{bare[:-1]}{_MENTIONED}{_SEPARATOR.join(mentioned)}]" if mentioned else bare


def step_of(tool: str, texts: Sequence[str]) -> Step:
    """How far these texts already are by their own shape, in this form or the plain one."""
    if not any(sign in text for text in texts for sign in _SIGNS):
        return Step.WHOLE
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
    return all(identifiers(item) == [item] for item in text[len(named) : -1].split(_SEPARATOR))


def short_marker(removed: int) -> str:
    """The note for every gap of a text but its first."""
    return f"[...{removed:,}...]"


def elide_text(text: str, weigh: Weigh, echo: Echo, kept_chars: int) -> str:
    """Shortens one text to about `kept_chars` characters.

    Args:
        text: The text as it came.
        weigh: The worth of an identifier.
        echo: The words that were said lately.
        kept_chars: What may stay of the text, markers aside (characters).

    Returns:
        The kept pieces in order with a marker on a line of its own for each gap, or the text itself when that
        would not be shorter.
    """
    if len(text) <= kept_chars:
        return text
    head, tail = _ends(text, kept_chars)
    room = kept_chars - head - (len(text) - tail)
    spans = _joined([(0, head), *_choose(text, weigh(text), echo(text), head, tail, room), (tail, len(text))])
    shorter = _write(text, spans)
    return shorter if len(shorter) < len(text) else text


def excerpt_chars(texts: Sequence[str]) -> tuple[int, int] | None:
    """How long an excerpt of these texts is, without making it.

    Args:
        texts: The texts of one result, in order.

    Returns:
        The least and the most it may have (characters); None where only making it tells.
    """
    if len(texts) != 1 or len(texts[0]) <= PLAIN_KEPT_CHARS + _FIRST_GAP_CHARS or not texts[0].strip():
        return None
    head, tail = _ends(texts[0], PLAIN_KEPT_CHARS)
    return head + len(texts[0]) - tail, PLAIN_KEPT_CHARS + _FIRST_GAP_CHARS


def _ends(text: str, kept_chars: int) -> tuple[int, int]:
    """Where the head of an excerpt ends, and where its tail begins."""
    length = min(END_CHARS, kept_chars // 4)
    head = _line_cut(text, head_end(text, length), forward=False)
    return head, _line_cut(text, tail_start(text, len(text) - length), forward=True)


def _mentions(texts: Sequence[str], weigh: Weigh, chars: int) -> list[str]:
    """The identifiers that a placeholder should mention, most worth a character first.

    Args:
        texts: The texts of the result, in order.
        weigh: The worth of an identifier.
        chars: How long the list may be, separators included (characters).
    """
    most = 2 * chars // (LEAST_CHARS + len(_SEPARATOR))
    if len(texts) == 1:
        words: Iterable[str] = (word for word, _ in _words_by_worth(texts[0], weigh, most))
    else:
        found: dict[str, float] = {}
        for text in texts:
            for word, ratio in _words_by_worth(text, weigh, most):
                found.setdefault(word, ratio)
        words = sorted(found, key=lambda word: -found[word])
    listed: dict[str, None] = {}
    room = chars
    for word in words:
        if room < LEAST_CHARS + len(_SEPARATOR):
            break
        if word not in listed and len(word) + len(_SEPARATOR) <= room:
            listed[word] = None
            room -= len(word) + len(_SEPARATOR)
    return list(listed)


def _words_by_worth(text: str, weigh: Weigh, most: int) -> Iterator[tuple[str, float]]:
    """The identifiers of a text with their worth a character, greatest first: at most so many."""
    weighed = weigh(text)
    rows = weighed.sightings.each()
    starts, ends = weighed.sightings.starts.take(rows), weighed.sightings.ends.take(rows)
    ratios = weighed.worth.take(rows) / (ends - starts + len(_SEPARATOR))
    best = _greatest(ratios, most)
    for start, end, ratio in zip(
        starts[best].tolist(), ends[best].tolist(), ratios[best].tolist(), strict=True
    ):
        yield text[start:end], ratio


def _greatest(values: NDArray[np.float64], most: int) -> Ints:
    """The rows of the greatest values above 0, greatest first, equal ones in order: at most so many."""
    # Few values are different, and a stable sort is quick with equal ones, as a partition is not.
    rows = np.argsort(-values, kind="stable")[:most]
    return rows[values.take(rows) > 0]


def _line_cut(text: str, position: int, *, forward: bool) -> int:
    """Moves a cut to a line break, else a space, within 80 characters, so that no word is cut in two."""
    if not 0 < position < len(text):
        return position
    if forward:
        near = text[position : position + NEAR_CHARS]
        at = near.find("\n")
        if at < 0:
            match = _BREAK.search(near)
            at = match.start() if match else -1
        return position if at < 0 else tail_start(text, position + at + 1)
    near = text[max(0, position - NEAR_CHARS) : position]
    at = near.rfind("\n")
    if at < 0:
        at = max((match.start() for match in _BREAK.finditer(near)), default=-1)
    return position if at < 0 else head_end(text, position - len(near) + at + 1)


def _settle(text: str, position: int, head: int, tail: int) -> int:
    """Where a piece that begins or ends near `position` is cut: at a line's end, else at a break before."""
    if position in (head, tail):
        return position
    position = head_end(text, position)
    is_line_end = position > 0 and text[position - 1] == "\n"
    return max(head, position if is_line_end else _line_cut(text, position, forward=False))


def _choose(
    text: str, weighed: Weighed, echoes: Echoes, head: int, tail: int, room: int
) -> list[tuple[int, int]]:
    """The pieces between head and tail that are most worth their length, each identifier counted once."""
    if head >= tail:
        return []
    pieces = Pieces.of(weighed, echoes, head, tail)
    chosen: list[tuple[int, int]] = []
    while room > GAP_CHARS and (piece := pieces.best(room)) is not None:
        start, end = (_settle(text, at, head, tail) for at in (pieces.starts[piece], pieces.ends[piece]))
        cost = end - start + GAP_CHARS
        if start < end and cost <= room:
            chosen.append((start, end))
            pieces.keep(piece)
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
            written.append(f"{before}{note}\n" if start < len(text) else f"{before}{note}")
        if start < end:
            written.append(text[start:end])
        position = end
    return "".join(written)
