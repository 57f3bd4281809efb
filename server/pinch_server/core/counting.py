"""How many tokens a conversation ships, by one of two estimates.

`chars3` is the original rule, three characters a token with one floor a message: free, and right within a
factor of two. `o200k` counts with the o200k_base vocabulary: exact for OpenAI's current models.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import toktok

CHARS_PER_TOKEN: Final = 3
"""Characters one token stands for, in the original estimate."""
_PIECE_CHARS: Final = 8_192
_FRAMING_BOUND: Final = 0.05
_WHOLE_CHARS: Final = 65_536
"""Longer texts are counted by every second piece, so that the worst input (random letters, 70 ms a megabyte)
stays under 50 ms a megabyte."""


class Counter(Protocol):
    """An estimate that adds up: units of texts are summed over a message, then become tokens once."""

    @property
    def method(self) -> str:
        """The name the reply gives this estimate."""
        ...

    @property
    def counts_chars(self) -> bool:
        """Whether a unit is a code point, so that the length of a text is its size."""
        ...

    def error_bound(self, texts: Iterable[str]) -> float:
        """How far the estimate of these texts may lie from the truth, relative to the truth."""
        ...

    def units(self, texts: Sequence[str]) -> list[int]:
        """The size of each text, in units that add up; one call for many texts is cheapest."""
        ...

    def tokens(self, units: int) -> int:
        """What a message of so many units costs (tokens)."""
        ...


@dataclass(frozen=True, slots=True)
class Chars3:
    """Characters // 3, one floor a message: the estimate of the original module.

    Its error against o200k_base over fifteen classes of content runs from -51% (base64, Chinese, UUIDs) to
    +48% (pretty-printed JSON), so the bound is 0.51.
    """

    method: str = "chars3"
    counts_chars: bool = True
    bound: float = 0.51

    def error_bound(self, texts: Iterable[str]) -> float:  # noqa: ARG002 all classes alike
        """The bound over all classes of content."""
        return self.bound

    def units(self, texts: Sequence[str]) -> list[int]:
        """The number of code points of each text."""
        return list(map(len, texts))

    def tokens(self, units: int) -> int:
        """Code points to tokens, rounded down."""
        return units // CHARS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class O200k:
    """Tokens of the o200k_base vocabulary, special tokens read as ordinary text.

    Texts are counted in pieces of 8,192 characters, which adds less than one token a piece; with the few
    tokens of framing a message costs, the bound against OpenAI's models is 0.05. Of texts above 65,536
    characters every second piece is counted; a text made to mislead that can be off by all of it, and the
    bound says so. Other vendors' tokenizers differ by more: read the bound as one against o200k_base.
    """

    method: str = "o200k"
    counts_chars: bool = False

    def error_bound(self, texts: Iterable[str]) -> float:
        """0.05, and the share of all characters that was only sampled."""
        lengths = list(map(len, texts))
        sampled = sum(length for length in lengths if length > _WHOLE_CHARS)
        return _FRAMING_BOUND + sampled / max(1, sum(lengths))

    def units(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        pieces: list[str] = []
        owners: list[tuple[int, float]] = []
        for text in texts:
            before = len(pieces)
            if len(text) <= _PIECE_CHARS:
                pieces.append(text)
                owners.append((1, 1.0))
                continue
            stride = _PIECE_CHARS if len(text) <= _WHOLE_CHARS else 2 * _PIECE_CHARS
            pieces.extend(text[start : start + _PIECE_CHARS] for start in range(0, len(text), stride))
            counted = sum(map(len, pieces[before:]))
            owners.append((len(pieces) - before, len(text) / counted))
        counts = iter(_count(pieces))
        return [round(sum(next(counts) for _ in range(many)) * scale) for many, scale in owners]

    def tokens(self, units: int) -> int:
        """The units are tokens already."""
        return units


def _count(texts: list[str]) -> list[int]:
    try:
        counts: list[int] = toktok.batch_count(texts, "o200k_base", 1)
    except UnicodeEncodeError:
        # Lone surrogates have no UTF-8: each counts as the replacement character that a provider makes of it.
        cleaned = [text.encode("utf-8", "replace").decode() for text in texts]
        counts = toktok.batch_count(cleaned, "o200k_base", 1)
    return counts


COUNTERS: Final[dict[str, Counter]] = {counter.method: counter for counter in (Chars3(), O200k())}
"""Every estimate, by the name of the setting that chooses it."""
