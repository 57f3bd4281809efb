"""One session replayed with and without pruning: sizes, dollars, and where it was trimmed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pinch_server.core.cache_model import CachePrices, input_dollars
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Counter
from pinch_server.core.event import oldest_first, uniform
from pinch_server.core.history import CallPlan, plan_history
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Edit


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One call of a session.

    Attributes:
        whole_tokens: What it ships without pruning (tokens).
        final_tokens: What it ships with pruning (tokens).
        whole_dollars: Its input price without pruning (USD).
        final_dollars: Its input price with pruning (USD).
        extends: Whether it begins with all that the call before shipped.
        trimmed: The results that were trimmed in it for the first time.
    """

    whole_tokens: int
    final_tokens: int
    whole_dollars: float
    final_dollars: float
    extends: bool
    trimmed: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class ReplayedSession:
    """All calls of one session.

    Attributes:
        name: What reports call it.
        calls: Its calls, oldest first.
    """

    name: str
    calls: tuple[ReplayedCall, ...]

    @property
    def whole_dollars(self) -> float:
        """The input price of all calls without pruning (USD)."""
        return sum(call.whole_dollars for call in self.calls)

    @property
    def final_dollars(self) -> float:
        """The input price of all calls with pruning (USD)."""
        return sum(call.final_dollars for call in self.calls)

    @property
    def breaks(self) -> int:
        """Calls that changed what the call before had shipped."""
        return sum(not call.extends for call in self.calls)

    def fields(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "session": self.name,
            "dollars_without": round(self.whole_dollars, 6),
            "dollars_with": round(self.final_dollars, 6),
            "prefix_breaks": self.breaks,
            "calls": [
                {
                    "tokens_without": call.whole_tokens,
                    "tokens_with": call.final_tokens,
                    "dollars_without": round(call.whole_dollars, 6),
                    "dollars_with": round(call.final_dollars, 6),
                    "extends_the_call_before": call.extends,
                    "trimmed": [
                        {
                            "message": edit.message,
                            "tool": edit.tool,
                            "action": edit.action.value,
                            "reason": edit.reason.value,
                            "tokens_before": edit.tokens_before,
                            "tokens_after": edit.tokens_after,
                        }
                        for edit in call.trimmed
                    ],
                }
                for call in self.calls
            ],
        }


def replay_session(
    name: str, conversation: Conversation, limits: Limits, counter: Counter, prices: CachePrices
) -> ReplayedSession:
    """Replays a session call by call; what one call shares with the one before is read from the cache."""
    order = oldest_first if limits.relevance else uniform
    calls: list[ReplayedCall] = []
    sent = 0
    for plan in plan_history(conversation, limits, counter, order=order):
        calls.append(_call(plan, sent, prices))
        sent = plan.whole_tokens
    return ReplayedSession(name, tuple(calls))


def _call(plan: CallPlan, sent: int, prices: CachePrices) -> ReplayedCall:
    return ReplayedCall(
        whole_tokens=plan.whole_tokens,
        final_tokens=plan.final_tokens,
        whole_dollars=input_dollars(prices, plan.whole_tokens, sent),
        final_dollars=input_dollars(prices, plan.final_tokens, plan.shared_tokens),
        extends=plan.extends,
        trimmed=tuple(edit for edit in plan.edits if edit.is_new),
    )


def pooled(sessions: Sequence[ReplayedSession]) -> tuple[float, float]:
    """The input price of all sessions together, without and with pruning (USD)."""
    return (
        sum(session.whole_dollars for session in sessions),
        sum(session.final_dollars for session in sessions),
    )


def change(whole: float, final: float) -> float:
    """The relative change from one price to another; 0 where there is nothing to compare."""
    return final / whole - 1 if whole else 0.0
