"""``python -m bench.counting``: how far a third of the characters lies from the tokens of o200k_base.

Whole sessions of real agents, counted by both estimates, and the processor time that each takes. Machines
differ: read the times against one another.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Final

from bench.corpus import Conversation, conversations
from pinch_server.core.counting import COUNTERS
from pinch_server.core.limits import Limits
from pinch_server.core.planning import measure
from pinch_server.formats.body import read_body

SHARES: Final = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""The quantiles that are shown."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Sessions counted by both estimates.

    Attributes:
        ratios: What chars3 counts for each token of o200k, session by session, ascending.
        seconds: The processor time of all of them, by the name of the estimate (seconds).
        tokens: What all of them hold, by o200k (tokens).
    """

    ratios: Sequence[float]
    seconds: dict[str, float]
    tokens: int


def compared(sessions: Iterable[Conversation]) -> Compared:
    """Counts each session by each estimate."""
    ratios: list[float] = []
    seconds = dict.fromkeys(COUNTERS, 0.0)
    tokens = 0
    for session in sessions:
        conversation = read_body(session.body, session.format).conversation
        found: dict[str, int] = {}
        for name, counter in COUNTERS.items():
            began = process_time()
            found[name] = measure(conversation, Limits(), counter)
            seconds[name] += process_time() - began
        ratios.append(found["chars3"] / max(1, found["o200k"]))
        tokens += found["o200k"]
    return Compared(sorted(ratios), seconds, tokens)


def main() -> int:
    """Prints the comparison.

    Returns:
        0; 2 when there is no corpus.
    """
    found = compared(conversations())
    if not found.ratios:
        print("error: there are no conversations beside the project", file=sys.stderr)
        return 2
    last = len(found.ratios) - 1
    print(f"{len(found.ratios)} sessions, {found.tokens:,} tokens; chars3 over o200k:\n")
    print("| " + " | ".join(f"{share:.0%}" for share in SHARES) + " |")
    print("|" + "---:|" * len(SHARES))
    print("| " + " | ".join(f"{found.ratios[round(share * last)]:.2f}" for share in SHARES) + " |\n")
    print(f"{sum(ratio < 1 for ratio in found.ratios)} sessions are under-counted.")
    for name, seconds in found.seconds.items():
        print(f"{name}: {seconds / found.tokens * 1e9:.1f} ms a million tokens")
    return 0


if __name__ == "__main__":
    sys.exit(main())
