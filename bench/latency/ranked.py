"""What ranking by embeddings adds to a call that is decided anew: with vectors at hand, and with none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bench.latency.pairs import Pair, Pairing, Times, pairing, times_of
from bench.latency.payloads import BUDGET_TOKENS, Call, GrowingSession
from bench.latency.ratios import SMALL_TOKENS
from bench.latency.servers import Measured
from bench.scrape import moved, scrape
from pinch.v1 import prune_pb2 as pb

Vectors: TypeAlias = Literal["off", "warm", "cold"]

SIZES: Final = (50_000, 324_000, 1_000_000)
"""Sizes of the conversations (tokens, characters / 3)."""
_COLD_SESSIONS: Final = 12
_MADE: Final = "pinch_embedding_cache_misses_total"
_KNOWN: Final = "pinch_embedding_cache_hits_total"


class NotRankedError(Exception):
    """A call was not ranked as it was to be measured; the text says which."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way of calling, each call decided anew.

    Attributes:
        history: `next`: the call before it was answered by this worker; `cold`: the session is new to it.
        vectors: `off`: not ranked; `warm`: those of earlier candidates are known; `cold`: none is.
    """

    history: Literal["next", "cold"]
    vectors: Vectors


CASES: Final = (Case("next", "off"), Case("next", "warm"), Case("cold", "off"), Case("cold", "cold"))


@dataclass(frozen=True, slots=True)
class RankedCall:
    """What one case costs at one size.

    Attributes:
        case: Which case.
        tokens: The size (tokens).
        times: What its calls and their echoes took.
        candidates: Results that the last call could have trimmed.
        made: Vectors made for a call (mean).
        known: Vectors of a call that were known (mean).
    """

    case: Case
    tokens: int
    times: Times
    candidates: int
    made: float
    known: float


def measure(
    echo: Measured, pinch: Measured, sizes: tuple[int, ...], steps: int, done: Callable[[], None]
) -> Iterator[RankedCall]:
    """Times every case at every size, body form, edits as the reply.

    The budget is 50,000 tokens, or a quarter of the session where that is less. No result stands in two
    sessions, so no session finds the vectors of another. A call at which nothing has to be ordered is left
    out; the first of a session that has something is no next one.

    Args:
        echo: The floor.
        pinch: What is measured: one worker that embeds, as it does by default.
        sizes: Sizes of conversation (tokens).
        steps: Next calls timed of each session; of small ones there are several.
        done: Called after every case and size.

    Raises:
        NotRankedError: A reply says that its results were not ranked as asked.
    """
    with pairing(echo, pinch) as pairs:
        for tokens in sizes:
            for case in CASES:
                yield _measure(case, tokens, steps, pairs, pinch.http)
                done()


def _measure(case: Case, tokens: int, steps: int, pairs: Pairing, http: str) -> RankedCall:
    is_next = case.history == "next"
    session = GrowingSession(tokens, steps + 1 if is_next else 1)
    sessions = max(1, SMALL_TOKENS // session.tokens) if is_next else _COLD_SESSIONS
    taken: list[Pair] = []
    made = known = 0.0
    for number in range(sessions):
        told = f"{tokens} {case.history} {case.vectors} {number}"
        before, is_timed = scrape(http), not is_next
        for call in session.calls(told, "body", "edits", ranked=True, own_results=True):
            pair = pairs.take(_limited(call, tokens, case))
            if not _is_as_asked(pair, case):
                continue
            if is_timed:
                taken.append(pair)
            else:
                before, is_timed = scrape(http), True
        for one in moved(before, scrape(http)):
            made += one.change if one.series == _MADE else 0
            known += one.change if one.series == _KNOWN else 0
    if not taken:
        raise NotRankedError(f"no call of {tokens:,} tokens had anything to rank; give more steps or tokens")
    candidates = taken[-1].reply.stats.candidates
    return RankedCall(case, tokens, times_of(taken), candidates, made / len(taken), known / len(taken))


def _limited(call: Call, tokens: int, case: Case) -> Call:
    limits = call.request.limits
    limits.budget_tokens = min(BUDGET_TOKENS, tokens // 4)
    limits.relevance = case.vectors != "off"
    return call


def _is_as_asked(pair: Pair, case: Case) -> bool:
    """Whether the candidates were ordered as asked; False where nothing had to be ordered."""
    stats = pair.reply.stats
    if stats.ranking == pb.RANKING_NOT_NEEDED:
        return False
    wanted = pb.RANKING_UNIFORM if case.vectors == "off" else pb.RANKING_HYBRID
    if stats.ranking != wanted:
        name, reason = pb.Ranking.Name(stats.ranking), stats.ranking_reason or "no reason given"
        raise NotRankedError(
            f"with vectors {case.vectors}, a call has {name} ({reason}), not {pb.Ranking.Name(wanted)}"
        )
    return True
