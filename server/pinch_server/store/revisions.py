"""Which revision of the schema a word stands for: a name, `head`, `base`, or so many steps from another."""

import re
from dataclasses import dataclass
from typing import Final

from pinch_server.core.nouns import counted
from pinch_server.store.errors import WrongRevision

BASE: Final = "base"
"""The database before its first revision."""
HEAD: Final = "head"
"""The revision that this version of Pinch needs."""

_STEPS: Final = re.compile(r"[+-][1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class Revisions:
    """The revisions of this version of Pinch, which lie in one line.

    Attributes:
        known: Their names, the earliest first.
    """

    known: tuple[str, ...]

    def above(self, word: str, found: str | None) -> str:
        """Return where a way up ends.

        Args:
            word: What was asked for.
            found: The revision the database is at, None where it has none.

        Raises:
            WrongRevision: There is no such revision, or no way up ends there.
        """
        if word == BASE or (word.startswith("-") and _STEPS.fullmatch(word)):
            raise WrongRevision(word, f"that is a way down: `pinch migrate down {word}`")
        return self._name(self._place(word, self._at(found)))

    def below(self, word: str, found: str | None) -> str:
        """Return where a way down ends.

        Args:
            word: What was asked for.
            found: The revision the database is at, None where it has none.

        Raises:
            WrongRevision: There is no such revision, or no way down ends there.
        """
        start = self._at(found)
        if word.startswith("+") and _STEPS.fullmatch(word):
            raise WrongRevision(word, f"that is a way up: `pinch migrate up {word}`")
        end = self._place(word, start)
        if end > start:
            at = f"the database is at {self._name(start)}, which is earlier"
            raise WrongRevision(word, f"{at}: that is a way up, `pinch migrate up {word}`")
        return self._name(end)

    def between(self, words: str) -> tuple[str, str]:
        """Return where a way begins and ends that is given as `TO` or `FROM:TO`.

        Raises:
            WrongRevision: There is no such revision, or it is no way.
        """
        first, colon, last = words.partition(":")
        if not colon:
            if words == BASE:
                raise WrongRevision(words, "that is where the way begins; the way back is FROM:base")
            return BASE, self._name(self._place(words, 0))
        if not (first and last) or ":" in last:
            raise WrongRevision(words, "that is no FROM:TO; give both revisions, base and head among them")
        if _STEPS.fullmatch(first):
            raise WrongRevision(first, f"FROM takes no steps; give {self._choice()}")
        start = self._place(first, 0)
        return self._name(start), self._name(self._place(last, start))

    def is_down(self, first: str, last: str) -> bool:
        """Return whether the way between two revisions that are known leads down."""
        return self._place(last, 0) < self._place(first, 0)

    def _place(self, word: str, start: int) -> int:
        """The place of a word's revision in the line, 0 for the base, steps counted from `start`."""
        if _STEPS.fullmatch(word):
            return self._stepped(word, start)
        names = (BASE, *self.known)
        if word == HEAD:
            return len(self.known)
        if word not in names:
            raise WrongRevision(word, f"there is no such revision; give {self._choice()}")
        return names.index(word)

    def _stepped(self, word: str, start: int) -> int:
        end = start + int(word)
        if 0 <= end <= len(self.known):
            return end
        left, way, last = (
            (start, "down", BASE) if end < 0 else (len(self.known) - start, "up", self.known[-1])
        )
        steps = counted(left, "step") if left else "no steps"
        verb = "leads" if left == 1 else "lead"
        raise WrongRevision(word, f"{steps} {verb} {way} from {self._name(start)}, to {last}")

    def _at(self, found: str | None) -> int:
        return 0 if found is None else 1 + self.known.index(found)

    def _name(self, place: int) -> str:
        return self.known[place - 1] if place else BASE

    def _choice(self) -> str:
        return f"one of {BASE}, {', '.join(self.known)}, {HEAD}"
