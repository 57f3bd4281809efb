"""Sessions call by call through several deciders that remember more or less, to be compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import COUNTERS
from pinch_server.core.decision import Decision
from pinch_server.core.limits import Limits
from pinch_server.core.scoring import Scoring
from pinch_server.decide import (
    Body,
    CallContext,
    Decided,
    Decider,
    InvalidCallError,
    Policy,
    PruneCall,
    Ranker,
    RankingPolicy,
)
from pinch_server.formats.format import Format
from tests.rpc.service import Kept
from tests.test_decide import Watched

HISTORY_KEYS = {
    "openai-chat": "messages",
    "anthropic": "messages",
    "bedrock": "messages",
    "openai-responses": "input",
    "gemini": "contents",
}


@dataclass
class Remembering:
    """A decider that keeps so many bytes of conversations between calls."""

    recent_bytes: int
    limits: Limits = field(default_factory=Limits)
    counting: str = "chars3"

    def __post_init__(self) -> None:
        self.kept = Kept()
        self.watched = Watched()
        clock = SystemClock()
        self.decider = Decider(
            Policy(self.limits, is_enabled=True, fingerprint="f", session_key=b"key"),
            COUNTERS[self.counting],
            self.kept,
            self.watched,
            clock,
            Uuid7Ids(),
            Ranker(clock, RankingPolicy(Scoring.AGE)),
            recent_bytes=self.recent_bytes,
        )

    def told(self, body: bytes, format: str | None, session: str = "s") -> object:
        """All that one call leaves, but for its id and its time; or what is wrong with it."""
        named = Format(format) if format else None
        call = PruneCall(Body(body, named), context=CallContext(session_id=session, prompt_rate="3"))
        before = len(self.kept.decisions), len(self.watched.stages), len(self.watched.shares)
        try:
            decided = self.decider.decide(call)
        except InvalidCallError as error:
            return error.violations
        return (
            _without_id(decided),
            [_row(row) for row in self.kept.decisions[before[0] :]],
            self.watched.stages[before[1] :],
            self.watched.shares[before[2] :],
        )


def _without_id(decided: Decided) -> Decided:
    return replace(decided, decision_id="")


def _row(row: Decision) -> Decision:
    # A receipt is stored once for the calls that repeat it, as far as what they repeat is kept.
    return replace(row, decision_id="", created_at=0, latency_us=0, trims=())


def planned(told: object) -> object:
    """What of a call's outcome hangs on nothing but the call."""
    if not isinstance(told, tuple) or not isinstance(told[0], Decided):
        return told
    return replace(told[0], prefix=None, economics=None)


def tellings(body: bytes, format: str, ends: Sequence[int], *, is_clean: bool = False) -> list[bytes]:
    """The calls of a session, each with so many entries of the history.

    Args:
        body: The last call.
        format: Its dialect.
        ends: How many entries each call has.
        is_clean: Whether halves of surrogate pairs become question marks, so that a strict decoder takes it.
    """
    key = HISTORY_KEYS[format]
    whole = json.loads(body)
    whole.pop("x", None)
    if is_clean:
        whole = json.loads(json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace"))
    history = whole.get(key)
    if not isinstance(history, list):
        return [body]
    return [json.dumps({**whole, key: history[:end]}).encode() for end in ends]
