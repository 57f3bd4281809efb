"""What of a long text is read when it is compared with a query: never only its head.

Answers stand anywhere in a tool's result, the error at the end of a log as often as the first lines of a
file.
"""

from collections.abc import Callable
from typing import Final

EXCERPT_TOKENS: Final = 2_000
"""Most tokens of an excerpt that travels to an embedding endpoint: some models read 2,048 and refuse the
rest."""
EXCERPT_CHARS: Final = 8_000
"""Most characters of such an excerpt."""

_GAP: Final = "\n"
_MIDDLE_PIECES: Final = 4
_LINE_REACH: Final = 80


def excerpt(text: str, max_chars: int) -> str:
    """The text itself, or its head, pieces of its middle and its tail, each on lines of its own.

    Args:
        text: Any text.
        max_chars: Most code points of the result; at least 0.

    Returns:
        At most `max_chars` code points: a third of them head, a quarter tail, the rest from the middle. A cut
        moves back to the end of a line where one is near.
    """
    if len(text) <= max_chars:
        return text
    if max_chars < 64:
        return text[:max_chars]
    room = max_chars - len(_GAP) * (_MIDDLE_PIECES + 1)
    head, tail = room // 3, room // 4
    piece = (room - head - tail) // _MIDDLE_PIECES
    between = len(text) - head - tail
    pieces = [_to_line_end(text[:head])]
    for number in range(_MIDDLE_PIECES):
        # The centre of each quarter of the middle.
        start = head + (2 * number + 1) * between // (2 * _MIDDLE_PIECES) - piece // 2
        pieces.append(_to_line_end(text[start : start + piece]))
    pieces.append(text[len(text) - tail :])
    return _GAP.join(pieces)


def embedding_excerpt(
    text: str,
    tokens: Callable[[str], int],
    *,
    max_tokens: int = EXCERPT_TOKENS,
    max_chars: int = EXCERPT_CHARS,
) -> str:
    """The excerpt that is embedded: within the characters, and within the tokens as counted.

    Args:
        text: Any text.
        tokens: Counts a text (tokens).
        max_tokens: Most tokens of the result.
        max_chars: Most code points of the result.

    Returns:
        An excerpt; of dense text (base64, ids) a shorter one than of prose.
    """
    kept = excerpt(text, max_chars)
    counted = tokens(kept)
    while counted > max_tokens and kept:
        # A little less than the share, since pieces of other places may be denser; always fewer characters.
        room = min(len(kept) - 1, len(kept) * max_tokens * 19 // (counted * 20))
        kept = excerpt(text, room)
        counted = tokens(kept)
    return kept


def _to_line_end(piece: str) -> str:
    end = piece.rfind("\n", len(piece) - _LINE_REACH)
    return piece if end <= 0 else piece[:end]
