"""How much of a text was taken from another, in order: the proof that a filter invented nothing."""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from decimal import Decimal
from typing import Any, Final

LOOK_AHEAD: Final = 4_096
"""How far from the last match a word is looked for (characters)."""
_TRACED: Final = 0.75
"""Share of a line that makes it one of the body's, said otherwise."""
_VAIN_LOOKS: Final = 300
"""Lines that are looked for in all of the body and not found there; further ones are looked for near by."""
_MISSES: Final = 20_000
"""Words that are looked for in vain; what comes after so many counts as missing."""
_FALSE_PLACES: Final = 16
"""Places within other words at which a word is found before it counts as missing."""
_LONG: Final = 12
"""From this many characters on a word may be the beginning or the end of one of the body's."""
# Scripts without spaces have no words to match: their letters stand alone.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
# Letters and digits are told apart: "T10" may be told as "10".
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+|\d+")


def traced_share(body: str, result: str) -> float:
    """The share of a result's letters and digits that stand in the body, in the same order (0 to 1).

    A line of the body counts whole. Of any other line each word must follow the last match, whole and within
    4,096 characters, or follow the start of the next line that holds the longest of them; the last may be
    cut. A line of which less than three quarters are found does not move the place where the next is looked
    for.
    """
    lines = [line.strip() for line in result.split("\n")]
    total = sum(len(word) for line in lines for word in _WORD.findall(line))
    if not total:
        return 1.0 if _is_text_part(body, "".join(result.split())) else 0.0
    tracer = _Tracer(body)
    return sum(map(tracer.follow, lines)) / total


class _Tracer:
    """Follows lines through a body, never backwards."""

    def __init__(self, body: str) -> None:
        self._body = body
        self._at = 0
        self._vain_looks = _VAIN_LOOKS
        self._misses = _MISSES
        self._lines: dict[str, list[int]] = defaultdict(list)
        start = 0
        for line in body.split("\n"):
            self._lines[line.strip()].append(start)
            start += len(line) + 1

    def follow(self, line: str) -> int:
        """How many letters and digits of a line were found."""
        words = _WORD.findall(line)
        if not words:
            return 0
        size = sum(map(len, words))
        places = self._lines.get(line, [])
        whole = bisect_left(places, self._at)
        if whole < len(places):
            self._at = places[whole] + len(line)
            return size
        tries = [self._match(words, self._at)]
        if self._vain_looks > 0:
            begin = self._line_of(max(words, key=len))
            if begin > self._at:
                tries.append(self._match(words, begin))
            if not any(found >= _TRACED * size for found, _ in tries):
                self._vain_looks -= 1
        ends = [end for found, end in tries if found >= _TRACED * size]
        if not ends:
            return tries[0][0]
        # The earliest, so that what comes next has the most to follow.
        self._at = min(ends)
        return max(found for found, end in tries if end == self._at)

    def _line_of(self, word: str) -> int:
        """Where the next line that holds a word begins, from the last match on; -1 when there is none."""
        place = self._body.find(word, self._at)
        return -1 if place < 0 else max(self._at, self._body.rfind("\n", self._at, place) + 1)

    def _match(self, words: list[str], at: int) -> tuple[int, int]:
        found = 0
        last = len(words) - 1
        for number, word in enumerate(words):
            place = self._find(word, at, may_be_cut=number == last)
            if place >= 0:
                found += len(word)
                at = place + len(word)
        return found, at

    def _find(self, word: str, at: int, *, may_be_cut: bool) -> int:
        if self._misses <= 0:
            return -1
        body = self._body
        until = at + LOOK_AHEAD + len(word)
        place = body.find(word, at, until)
        for _ in range(_FALSE_PLACES):
            if place < 0:
                break
            end = place + len(word)
            is_begun = not _joins(body[place - 1 : place], word[0])
            is_ended = may_be_cut or not _joins(word[-1], body[end : end + 1])
            if (is_begun and is_ended) or len(word) >= _LONG:
                return place
            place = body.find(word, place + 1, until)
        self._misses -= 1
        return -1


def _joins(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word; at an end of the text there is none."""
    return bool(left and right) and _WORD.fullmatch(left + right) is not None


def is_subsequence(body: str, result: str) -> bool:
    """Whether a result holds nothing but what the body has, in its order.

    Where both are JSON objects or arrays: a subset of each object's keys, some of each array's elements in
    their order, the same numbers, and characters of each string in their order. Else characters of the text
    in their order.
    """
    try:
        whole, part = _container(body), _container(result)
        if whole is not None and part is not None and _is_part(whole, part):
            return True
    except RecursionError:
        # Nested deeper than can be compared: then it is text.
        pass
    return _is_text_part(body, result)


def _container(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        return None


def _is_part(whole: Any, part: Any) -> bool:
    if type(whole) is not type(part):
        numbers = isinstance(whole, int | Decimal) and isinstance(part, int | Decimal)
        return numbers and not isinstance(whole, bool) and not isinstance(part, bool) and whole == part
    if isinstance(whole, dict):
        return all(key in whole and _is_part(whole[key], value) for key, value in part.items())
    if isinstance(whole, list):
        left = iter(whole)
        return all(any(_is_part(item, value) for item in left) for value in part)
    if isinstance(whole, str):
        return _is_text_part(whole, part)
    return bool(whole == part)


def _is_text_part(whole: str, part: str) -> bool:
    at = 0
    for char in part:
        at = whole.find(char, at) + 1
        if not at:
            return False
    return True
