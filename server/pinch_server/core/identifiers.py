"""The identifiers of a text: paths, names, ids and numbers that a model may have to repeat to the letter."""

import re
from typing import Final

_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:\-]{4,}[A-Za-z0-9_]")
_MARKS: Final = frozenset("0123456789_./:-")


def words(text: str) -> list[str]:
    """Every run of six or more letters, digits and separators, in order of appearance."""
    return _WORD.findall(text)


def identifiers(text: str) -> list[str]:
    """The identifiers of `text`, each once, in order of first appearance.

    An identifier has at least six characters and something that prose lacks: a separator, a digit or an inner
    capital.
    """
    return [word for word in dict.fromkeys(_WORD.findall(text)) if _is_marked(word)]


def _is_marked(word: str) -> bool:
    return not _MARKS.isdisjoint(word) or not (word[1:].islower() or word.isupper())
