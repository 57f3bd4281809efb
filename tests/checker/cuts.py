"""Where a text may be cut: between grapheme clusters and outside terminal escape sequences."""

from __future__ import annotations

import re

import regex

LONGEST_CLUSTER = 200
"""Code points; a longer cluster (stacked combining marks) may be cut, or a cut might find no place at all."""
LONGEST_ESCAPE = 1000
"""Code points; a longer escape sequence (an image in an OSC string) may be cut."""

_CLUSTER = regex.compile(r"\X")
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x00-\x1f\x7f\x9c]*(?:\x07|\x1b\\|\x9c)"
)
_ESCAPE_START = re.compile(r"[\x1b\x9b\x9d]")
_OTHER_ESCAPE = re.compile(
    r"\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)


def _safe_start(text: str, at: int) -> int:
    """The nearest place before `at` that is surely a boundary: between two ASCII characters."""
    for place in range(at - 1, 0, -1):
        before, after = text[place - 1], text[place]
        if before < "\x7f" and after < "\x7f" and (before, after) != ("\r", "\n"):
            return place
    return 0


def cluster_around(text: str, at: int) -> tuple[int, int] | None:
    """The span of the grapheme cluster that a cut before code point `at` would split, or None."""
    if not 0 < at < len(text):
        return None
    for found in _CLUSTER.finditer(text, _safe_start(text, at)):
        if found.end() >= at:
            return None if found.end() == at else (found.start(), found.end())
    return None


def escape_around(text: str, at: int) -> tuple[int, int] | None:
    """The span of the CSI or OSC sequence that a cut before code point `at` would split, or None."""
    for start in _ESCAPE_START.finditer(text, max(0, at - LONGEST_ESCAPE), at):
        found = _ESCAPE.match(text, start.start())
        if found is not None and found.start() < at < found.end():
            return found.span()
    return None


def split_at(text: str, at: int) -> str | None:
    """What a cut before code point `at` splits that it must not, or None when the cut is clean."""
    cluster = cluster_around(text, at)
    if cluster is not None and cluster[1] - cluster[0] <= LONGEST_CLUSTER:
        return f"a grapheme cluster at {cluster[0]}-{cluster[1]}"
    escape = escape_around(text, at)
    if escape is not None and escape[1] - escape[0] <= LONGEST_ESCAPE:
        return f"an escape sequence at {escape[0]}-{escape[1]}"
    return None


def excuses_move(text: str, at: int) -> bool:
    """Whether a cut may move away from `at`: a cluster or any escape sequence, long or rare, stands there."""
    if cluster_around(text, at) is not None or escape_around(text, at) is not None:
        return True
    return any(
        (found := _OTHER_ESCAPE.match(text, start.start())) is not None and found.end() > at
        for start in re.finditer(r"[\x1b\x9d]", text[:at])
    )


def partial_escapes(text: str) -> int:
    """How many CSI or OSC introducers of a text begin no complete sequence."""
    return sum(
        1
        for start in re.finditer(r"\x1b[\[\]]|[\x9b\x9d]|\x1b\Z", text)
        if _ESCAPE.match(text, start.start()) is None
    )
