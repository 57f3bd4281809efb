"""Identifiers weighed by a rule of a test's own, in place of a conversation's."""

from collections.abc import Callable

import numpy as np

from pinch_server.core.keyed import Weigh
from pinch_server.core.sightings import read_texts
from pinch_server.core.worth import UNIT, Weighed


def weighing(worth_of: Callable[[str], float]) -> Weigh:
    """What `worth_of` says of each identifier, in units of one that is rare and new."""

    def weigh(text: str) -> Weighed:
        (found,), _ = read_texts([text])
        spans = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
        worth = [round(UNIT * worth_of(text[start:end])) for start, end in spans]
        return Weighed(found, np.array(worth, dtype=np.int64))

    return weigh
