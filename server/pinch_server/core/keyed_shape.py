"""The shape of a keyed elision, and whether texts have it: what a trim wrote must not be trimmed again."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pinch_server.core.limits import PLAIN_KEPT_CHARS
from pinch_server.core.trimming import Step

END_CHARS: Final = 750
"""Characters kept at each end of an elided text."""
GAP_CHARS: Final = 26
"""About what a gap costs; a shorter stretch between two kept pieces is kept too."""
_MOVE: Final = 144
"""How far the cut of an end moves in: to a break within 80 characters, out of a cluster or a short escape."""
_SLACK: Final = 80
"""What a text that its gaps would have lengthened may have beyond its share, and each gap's line breaks."""
_GAP_LINE: Final = re.compile(
    r"(?m)^\[\.\.\.([1-9][0-9]{0,2}(?:,[0-9]{3})*)(?P<long> chars trimmed)?\.\.\.\]$"
)


@dataclass(frozen=True, slots=True)
class _Cut:
    """A text read as an elision.

    Attributes:
        kept: Characters of the original that are still there, at least.
        removed: Characters its gaps claim, at most.
    """

    kept: int
    removed: int


def recognised_step(texts: Sequence[str]) -> Step:
    """ELIDED where the texts of one result read as kept pieces and gaps of one elision, else WHOLE."""
    kept = removed = 0
    is_cut = False
    for text in texts:
        if not text.strip():
            continue
        cut = _reading(text, END_CHARS - _MOVE if len(texts) == 1 else 0)
        is_cut = is_cut or cut is not None
        kept += len(text) if cut is None else cut.kept
        removed += 0 if cut is None else cut.removed
    is_short = kept <= PLAIN_KEPT_CHARS + _SLACK * len(texts)
    return Step.ELIDED if is_cut and is_short and kept + removed > PLAIN_KEPT_CHARS else Step.WHOLE


def _reading(text: str, least_end: int) -> _Cut | None:
    """The reading of a text as an elision that keeps least; None where there is none.

    The first gap is a long one, the others are short ones; what is kept may hold lines of a tool that look
    like either.

    Args:
        text: One text of a result.
        least_end: How long its head or its tail must be (characters).
    """
    gaps = list(_GAP_LINE.finditer(text))
    longs = [gap for gap in gaps if gap["long"]]
    readings: list[_Cut] = []
    for head, tail in ((least_end, 0), (0, least_end)):
        first = next((gap for gap in longs if gap.start() >= head), None)
        if first is None or len(text) - first.end() < tail:
            continue
        rest = [gap for gap in gaps if gap.start() > first.start() and len(text) - gap.end() >= tail]
        shorts = [gap for gap in rest if not gap["long"]]
        kept = len(text) - sum(len(gap[0]) + 1 for gap in (first, *shorts))
        readings.append(_Cut(kept, sum(int(gap[1].replace(",", "")) for gap in (first, *rest))))
    return min(readings, key=lambda cut: cut.kept, default=None)
