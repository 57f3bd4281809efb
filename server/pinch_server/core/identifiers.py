"""The identifiers of a text: paths, names, ids and numbers that a model may have to repeat to the letter."""

import re
from collections.abc import Iterable
from typing import Final

_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:\-]{4,}[A-Za-z0-9_]")


def words(text: str) -> list[str]:
    """Every run of six or more letters, digits and separators, in order of appearance."""
    return _WORD.findall(text)


def identifiers(text: str) -> list[str]:
    """The identifiers of `text`, each once, in order of first appearance.

    An identifier has at least six characters and something that prose lacks: a separator, a digit or an inner
    capital.
    """
    return marked(_WORD.findall(text))


def marked(found: Iterable[str]) -> list[str]:
    """The identifiers among words, each once, in order of first appearance."""
    # A word is ASCII, so one that is not all letters has a digit or a separator.
    return [
        word
        for word in dict.fromkeys(found)
        if not word.isalpha() or not (word[1:].islower() or word.isupper())
    ]
