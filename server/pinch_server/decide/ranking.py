"""Ranks the candidates of a call: what is embedded, when, for how long, and what happens without vectors.

The one round trip of a call is made for its own event. What an earlier event ranked by must be there already:
otherwise an outage, or a replica that has just started, would decide the past anew.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pinch_server.core.checkpoint import Checkpoint, Checkpoints
from pinch_server.core.conversation import Message
from pinch_server.core.counting import COUNTERS
from pinch_server.core.draft import DraftResult
from pinch_server.core.embedding import Unavailable, Vectors
from pinch_server.core.event import Ranked
from pinch_server.core.excerpts import embedding_excerpt
from pinch_server.core.limits import Limits, Stability
from pinch_server.core.plan import Ranking
from pinch_server.core.ranking import least_relevant_first, ranking_query
from pinch_server.core.scoring import Scoring
from pinch_server.core.tally import Tally
from pinch_server.decide.call import Patience, Place
from pinch_server.decide.terms import RecentTerms
from pinch_server.ports import Clock, Embedder, WhenGone

PAST_VECTORS_MISSING: Final = "past_vectors_missing"
"""Why an earlier event was ranked by words: the vectors it had are not here."""
FEW_CANDIDATES: Final = "few_candidates"
"""Why there was no round trip: there was too little to rank."""
NO_EMBEDDER: Final = "no_embedder"
"""Why there are no vectors where nobody embeds."""
OLDEST_FIRST: Final = "oldest_first"
"""What an order by age is called."""

_EXACT: Final = COUNTERS["o200k"]
_LEAST_RESERVE_SECONDS: Final = 0.05
_RESERVE_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    """What the operator has set.

    Attributes:
        scoring: What ranks a candidate.
        timeout_seconds: Most time for the embeddings of one call (seconds).
        min_candidates: With fewer candidates than this nothing is embedded.
    """

    scoring: Scoring = Scoring.AUTO
    timeout_seconds: float = 10.0
    min_candidates: int = 2


class Ranker:
    """Ranks for every call. Shared by the threads of a worker.

    Args:
        clock: Tells how much of a call's time is left.
        policy: What the operator has set.
        embedder: Makes vectors; None where nobody does.
    """

    def __init__(
        self, clock: Clock, policy: RankingPolicy = RankingPolicy(), embedder: Embedder | None = None
    ) -> None:
        self._clock = clock
        self._policy = policy
        self._embedder = embedder
        self._terms = RecentTerms()
        if embedder is not None:
            # The vocabulary that measures excerpts takes half a second to load: not at some caller's expense.
            _EXACT.units(["warm"])

    def for_call(self, tally: Tally, limits: Limits, patience: Patience) -> "CallRanking":
        """The order of one call's candidates.

        Args:
            tally: The conversation's tally.
            limits: The limits of the call.
            patience: How long the caller waits.
        """
        messages = tally.messages
        newest = tally.newest_point if limits.stability is Stability.REPLAY else len(messages)
        seconds = self._policy.timeout_seconds
        if patience.seconds is not None:
            reserve = max(_LEAST_RESERVE_SECONDS, patience.seconds * _RESERVE_SHARE)
            seconds = min(seconds, patience.seconds - reserve)
        return CallRanking(
            messages=messages,
            newest=newest,
            scoring=self._policy.scoring.under(limits.stability),
            min_candidates=self._policy.min_candidates,
            terms=self._terms,
            embedder=self._embedder,
            clock=self._clock,
            when_gone=patience.when_gone,
            place=patience.place,
            until=self._clock.monotonic() + seconds,
        )


@dataclass(slots=True)
class CallRanking:
    """The order of one call's candidates: an `Order` that remembers whether it had all it needed.

    Attributes:
        messages: The whole history.
        newest: The number of messages before the call's own event.
        scoring: What ranks a candidate; not AUTO.
        min_candidates: With fewer candidates than this nothing is embedded.
        terms: The words of recent texts.
        embedder: Makes vectors; None where nobody does.
        clock: The time.
        when_gone: Registers what to do when the call ends.
        place: Its place among the calls that are worked on.
        until: When embedding must be over, on the monotonic clock (seconds).
        reason: Why some event so far was not ranked as it should be; empty when none was.
        seconds: How long ranking took so far, by age alone not counted (seconds).
    """

    messages: Sequence[Message]
    newest: int
    scoring: Scoring
    min_candidates: int
    terms: RecentTerms
    embedder: Embedder | None
    clock: Clock
    when_gone: WhenGone | None
    place: Place
    until: float
    reason: str = field(default="", init=False)
    seconds: float = field(default=0.0, init=False)

    @property
    def is_final(self) -> bool:
        """Whether the same call is ranked the same way when it comes again, for want of vectors or not."""
        return not self.reason or self.embedder is None

    def __call__(self, candidates: Sequence[DraftResult], end: int) -> Ranked:
        """Ranks the candidates of the event before which `end` messages stand."""
        scoring = self.scoring
        if scoring is Scoring.AGE:
            return Ranked(range(len(candidates)), Ranking.UNIFORM, OLDEST_FIRST)
        if len(candidates) < 2:
            return Ranked(range(len(candidates)), Ranking.NOT_NEEDED)
        began = self.clock.monotonic()
        ranked = self._by_match(candidates, end)
        self.seconds += self.clock.monotonic() - began
        return ranked

    def _by_match(self, candidates: Sequence[DraftResult], end: int) -> Ranked:
        scoring = self.scoring
        query = ranking_query(self.messages, end)
        texts = ["\n".join(candidate.originals) for candidate in candidates]
        vectors, reason = None, ""
        if scoring.needs_vectors:
            vectors, reason = self._vectors(query, texts, end)
        indices = least_relevant_first(
            scoring, self.terms.of(query), [self.terms.of(text) for text in texts], vectors
        )
        return Ranked(indices, Ranking.LEXICAL if reason else scoring.ranking, reason)

    def _vectors(
        self, query: str, texts: Sequence[str], end: int
    ) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]] | None, str]:
        """The vector of the query and those of the texts, or why there are none."""
        if len(texts) < self.min_candidates:
            return None, FEW_CANDIDATES
        rows: NDArray[np.float32] | None
        if self.embedder is None:
            rows, reason = None, NO_EMBEDDER
        else:
            excerpts = [embedding_excerpt(text, _tokens) for text in (query, *texts)]
            rows, reason = (
                self._made(self.embedder, excerpts)
                if end >= self.newest or self.embedder.is_local
                else _recalled(self.embedder, excerpts)
            )
        if rows is None:
            self.reason = self.reason or reason
            return None, reason
        return (rows[0], rows[1:]), ""

    def _made(self, embedder: Embedder, excerpts: Sequence[str]) -> tuple[NDArray[np.float32] | None, str]:
        # One that is here works; another one is waited for.
        with nullcontext() if embedder.is_local else self.place.aside():
            answer = embedder.embed(excerpts, self.until - self.clock.monotonic(), self.when_gone)
        if isinstance(answer, Unavailable):
            return None, answer.fault
        return answer.rows, ""


def _recalled(embedder: Embedder, excerpts: Sequence[str]) -> tuple[NDArray[np.float32] | None, str]:
    known = embedder.recall(excerpts)
    found = [vector for vector in known if vector is not None]
    missing = sum(bool(text.strip()) for text in excerpts) - len(found)
    if missing or len({len(vector) for vector in found}) > 1:
        return None, PAST_VECTORS_MISSING
    dimension = len(found[0]) if found else 0
    blank = np.zeros(dimension, dtype=np.float32)
    return Vectors(np.stack([blank if vector is None else vector for vector in known])).rows, ""


def _tokens(text: str) -> int:
    return sum(_EXACT.units([text]))


@dataclass(frozen=True, slots=True)
class SettledCheckpoints:
    """The checkpoints of a call, which keeps none of its own unless every event had all it needed.

    A plan that was made without vectors must not be taken for the one that is made with them.
    """

    kept: Checkpoints
    ranking: CallRanking

    def get(self, key: bytes) -> Checkpoint | None:
        """The checkpoint of this key, or None."""
        return self.kept.get(key)

    def put(self, key: bytes, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint that the next call may go on from."""
        if not self.ranking.reason:
            self.kept.put(key, checkpoint)
