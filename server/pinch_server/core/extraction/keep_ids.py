"""What of a conversation a shortened result must not lose: ids, numbers and paths that were named there.

Only words with a mark that prose lacks count: 13 of 40 good results had once been refused for dropping an
English word.
"""

import re
from collections.abc import Sequence
from typing import Final

HARVESTED: Final = 40
"""Most words that are taken from a conversation."""
LISTED: Final = 60
"""Most words that a prompt lists."""
_LEAST_CHARS: Final = 5
_PERVASIVE: Final = 20
"""A word that a result says more often than this is no landmark of it."""
_SHAPE: Final = re.compile(r"\w[\w./:@#+~-]*")
_NUMBER: Final = re.compile(r"\d{3,}")
_STRONG: Final = frozenset("_./:@#+~")


def keep_ids(text: str, limit: int = HARVESTED) -> tuple[str, ...]:
    """The words of a conversation to be kept, the newest `limit` of them, in order of appearance.

    A word has four characters or more and a separator, a digit or an inner capital; or it is a number of
    three digits or more. One hyphen between two words is not enough, since prose has those.

    Args:
        text: Of the conversation, oldest first.
        limit: Most words.
    """
    found: dict[str, None] = {}
    for match in _SHAPE.finditer(text):
        word = match.group().rstrip("./:-#+~")
        if _is_marked(word):
            # The place of the last mention is what counts.
            found.pop(word, None)
            found[word] = None
    return tuple(found)[-limit:] if limit > 0 else ()


def dropped_id(body: str, result: str, keep: Sequence[str]) -> str | None:
    """The first word to be kept that the body has and the result lost; None when there is none.

    Exempt are words of fewer than five characters or without a letter, and those that the body says more than
    20 times.
    """
    for word in keep:
        if len(word) < _LEAST_CHARS or not any(map(str.isalpha, word)) or word in result:
            continue
        if 1 <= body.count(word) <= _PERVASIVE:
            return word
    return None


def _is_marked(word: str) -> bool:
    if _NUMBER.fullmatch(word):
        return True
    if len(word) < 4:
        return False
    if any(char in _STRONG or char.isdigit() for char in word) or word.count("-") > 1:
        return True
    inner = word[1:]
    # A word all in capitals is an abbreviation, or loud.
    return inner != inner.lower() and not word.isupper()
