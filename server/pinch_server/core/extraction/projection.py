"""Shortening without a model: the telling keys of JSON, or one window of lines around what was named."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pinch_server.core.cuts import head_end
from pinch_server.core.extraction.notes import characters_elided

_TELLING: Final = ("status", "state", "name", "error", "reason", "date", "time")
# A word of its own, in snake_case or camelCase: "width" and "valid" hold it too.
_ID: Final = re.compile(r"(?:^|[^A-Za-z])[iI][dD]s?(?![a-z])|[a-z]I[dD]s?(?![a-z])")
_BACKWARDS: Final = 4
"""The part of the window that may lie before what was named: one in this many."""


def project(body: str, keep: Sequence[str], max_chars: int) -> str | None:
    """What stays of a result when no model is asked.

    A JSON object or array keeps the keys that hold a telling word or a word to be kept, in the key or in the
    value, with the numbers exactly as they were written and long strings cut. Any other text keeps a window
    of whole lines around the first that holds a word to be kept, with a note on either side.

    Args:
        body: The result.
        keep: Words to be kept.
        max_chars: Longest window, and longest string (code points); 0 gives no window and cuts no string.

    Returns:
        What stays, or None when there is no window to give.
    """
    container = _parse(body)
    if container is not None:
        try:
            return _Projection(keep, max_chars).text(container)
        except RecursionError:
            # Nested too deep to walk: then it is text.
            pass
    return _window(body, keep, max_chars) if max_chars > 0 else None


class _Written(str):
    """A number, or what JSON does not know as one, as it was written."""

    __slots__ = ()


class _Pairs(tuple[tuple[str, Any], ...]):
    """An object's keys in their order, twice where they are."""

    __slots__ = ()


def _parse(body: str) -> Any:
    if not body.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(
            body, parse_int=_Written, parse_float=_Written, parse_constant=_Written, object_pairs_hook=_Pairs
        )
    except (ValueError, RecursionError):
        return None


class _Projection:
    """Writes the telling part of a JSON value.

    Args:
        keep: Words to be kept.
        max_chars: Longest string (code points); 0 cuts none.
    """

    def __init__(self, keep: Sequence[str], max_chars: int) -> None:
        self._keep = [word.lower() for word in keep]
        self._max_chars = max_chars

    def text(self, value: Any, *, is_whole: bool = False) -> str:
        """The JSON of a value: of all of it when `is_whole`, else of the telling part of its objects."""
        if isinstance(value, _Pairs):
            kept = value if is_whole else [pair for pair in value if self._is_telling(*pair)]
            pairs = (
                f"{_quoted(key)}:{self.text(item, is_whole=is_whole or self._is_telling_key(key))}"
                for key, item in kept
            )
            return "{" + ",".join(pairs) + "}"
        if isinstance(value, list):
            return "[" + ",".join(self.text(item, is_whole=is_whole) for item in value) + "]"
        if isinstance(value, _Written):
            return str(value)
        if isinstance(value, str):
            return _quoted(self._cut(value))
        return json.dumps(value)

    def _is_telling(self, key: str, value: Any) -> bool:
        if self._is_telling_key(key):
            return True
        if isinstance(value, _Pairs):
            return any(self._is_telling(*pair) for pair in value)
        if isinstance(value, list):
            return any(self._is_telling("", item) for item in value)
        return isinstance(value, str) and self._holds(value)

    def _is_telling_key(self, key: str) -> bool:
        lowered = key.lower()
        return (
            any(word in lowered for word in _TELLING) or _ID.search(key) is not None or self._holds(lowered)
        )

    def _holds(self, text: str) -> bool:
        lowered = text.lower()
        return any(word in lowered for word in self._keep)

    def _cut(self, text: str) -> str:
        if not 0 < self._max_chars < len(text):
            return text
        end = head_end(text, self._max_chars)
        return text[:end] + characters_elided(len(text) - end)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _window(body: str, keep: Sequence[str], max_chars: int) -> str:
    lines = body.splitlines(keepends=True)
    anchor = next((at for at, line in enumerate(lines) if any(word in line for word in keep)), 0)
    first, used = anchor, 0
    while first > 0 and used + len(lines[first - 1]) <= max_chars // _BACKWARDS:
        first -= 1
        used += len(lines[first])
    start = _length(lines[:first])
    end = start
    for line in lines[first:]:
        if end - start + len(line) > max_chars:
            break
        end += len(line)
    if end - start < max_chars // _BACKWARDS and end < len(body):
        # The next line alone is longer than what is left of the window.
        end = max(end, head_end(body, start + max_chars))
    return _noted(body, start, end)


def _length(lines: Iterable[str]) -> int:
    return sum(map(len, lines))


def _noted(body: str, start: int, end: int) -> str:
    parts = [body[start:end].strip("\r\n")]
    if start:
        parts.insert(0, characters_elided(start))
    if end < len(body):
        parts.append(characters_elided(len(body) - end))
    return "\n".join(parts)
