"""Where a text may be cut: never inside a grapheme cluster or a terminal escape sequence.

The segmentation tables are those of the pinned `regex` package, not the interpreter's, so that every Python
version cuts at the same character.
"""

from typing import Final

import regex

_ESCAPE: Final = regex.compile(
    r"""(?: \x1b\[ | \x9b ) [0-?]{0,900} [ -/]{0,99} [@-~]  # CSI: colours, cursor moves
      | (?: \x1b\] | \x9d ) [^\x07\x1b\x9c]{0,1000} (?: \x07 | \x1b\\ | \x9c )  # OSC: titles, links
      | \x1b [PX^_] [^\x1b\x9c]{0,1000} (?: \x1b\\ | \x9c )        # DCS, SOS, PM, APC
      | \x1b [ -/]{0,999} [0-~]                             # two-character and charset escapes
    """,
    regex.VERBOSE | regex.DOTALL,
)
_LONGEST_ESCAPE: Final = 1_004
"""Code points; a longer sequence may be cut."""
_CLUSTER: Final = regex.compile(r"\X")
_FLAGS_BEFORE: Final = regex.compile(r"(?r)[\U0001F1E6-\U0001F1FF]+\Z")
_LOOK: Final = 256
"""Code points to look each way for a cluster boundary that is certain; longer clusters may be cut."""


def head_end(text: str, limit: int) -> int:
    """The greatest length up to `limit` at which `text` may end."""
    return _settle(text, limit, forward=False)


def tail_start(text: str, start: int) -> int:
    """The least position from `start` on at which the rest of `text` may begin."""
    return _settle(text, start, forward=True)


def _settle(text: str, position: int, *, forward: bool) -> int:
    while 0 < position < len(text):
        moved = _out_of_escape(text, position, forward=forward)
        if moved == position:
            moved = _out_of_cluster(text, position, forward=forward)
        if moved == position:
            return position
        position = moved
    return max(0, min(position, len(text)))


def _out_of_escape(text: str, position: int, *, forward: bool) -> int:
    floor = max(0, position - _LONGEST_ESCAPE)
    start = max(text.rfind(opener, floor, position) for opener in ("\x1b", "\x9b", "\x9d"))
    if start < 0:
        return position
    match = _ESCAPE.match(text, start)
    if match is None or match.end() <= position:
        return position
    return match.end() if forward else start


def _out_of_cluster(text: str, position: int, *, forward: bool) -> int:
    before, after = text[position - 1], text[position]
    if before < "\x80" and after < "\x80":
        # Between two ASCII characters there is always a boundary, but for CR LF.
        if before == "\r" and after == "\n":
            return position + 1 if forward else position - 1
        return position
    start = position - 1
    floor = max(0, position - _LOOK)
    while start > floor and not (text[start] < "\x80" and text[start - 1] < "\x80"):
        start -= 1
    if start == floor and "\U0001f1e6" <= text[start] <= "\U0001f1ff":
        # Regional indicators pair up from the first one of their run.
        flags = _FLAGS_BEFORE.search(text, 0, start + 1)
        start -= (start - flags.start()) % 2 if flags else 0
    for cluster in _CLUSTER.finditer(text[start : position + _LOOK]):
        if start + cluster.end() >= position:
            if start + cluster.end() == position:
                return position
            return start + (cluster.end() if forward else cluster.start())
    return position
