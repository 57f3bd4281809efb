"""What `pinch top` shows, worked out of a service's answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from statistics import quantiles
from typing import Any, Final, Protocol

from pinch_server.core.nouns import counted
from pinch_server.rpc.watching import NotAnsweredError

DAYS: Final = 30
"""The window of the savings (days)."""
_LAST: Final = 1000
_SHOWN: Final = 20
_SECONDS: Final = 60.0
_NO_STORE: Final = "stored decisions cannot be read now"


class Service(Protocol):
    """A service that is asked; each method may raise NotAnsweredError."""

    def is_ready(self) -> bool:
        """Whether it takes calls."""
        ...

    def savings(self, days: int) -> dict[str, Any] | None:
        """Its savings; None while pruning is off."""
        ...

    def decisions(self, last: int) -> list[dict[str, Any]]:
        """Its newest decisions, the newest first."""
        ...


@dataclass(frozen=True, slots=True)
class Figures:
    """One look at a service.

    Attributes:
        is_ready: Whether it takes calls.
        savings: Its savings under the names of the API; None while pruning is off, or the database is away.
        decisions: Its newest decisions, the newest first.
        problem: What is wrong with the database, in the service's words; empty when nothing is.
        now: When it was looked at.
    """

    is_ready: bool
    savings: Mapping[str, Any] | None
    decisions: Sequence[Mapping[str, Any]]
    problem: str
    now: datetime

    def facts(self) -> Iterator[tuple[str, str]]:
        """Each figure with its name."""
        yield "service", "takes calls" if self.is_ready else "takes no calls at the moment"
        yield "database", self.problem or "answers"
        if self.problem:
            return
        yield "calls", self._rate()
        if self.savings is None:
            yield "saved", "pruning is switched off"
        else:
            yield "saved", self._saved(self.savings)
        yield "latency", self._latency()
        yield "embedder", self._embedder()

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The last decisions, as cells."""
        for one in self.decisions[:_SHOWN]:
            made = datetime.fromtimestamp(one["created_at_unix_micros"] / 1e6, UTC)
            sizes = saved = "-"
            if "pinch_original_tokens" in one:
                before, after = one["pinch_original_tokens"], one["pinch_final_tokens"]
                sizes, saved = f"{before:,} -> {after:,}", f"{max(before - after, 0):,}"
            yield (
                f"{made:%H:%M:%S}",
                one["selected_model"] or one["model"] or "-",
                sizes,
                saved,
                one["ranking"].lower().replace("_", " "),
                f"{one['latency_micros'] / 1000:,.1f}",
                "dry run" if one["dry_run"] else one["outcome"].lower(),
            )

    def _rate(self) -> str:
        since = self.now.timestamp() * 1e6 - _SECONDS * 1e6
        made = [one["created_at_unix_micros"] for one in self.decisions]
        recent = sum(moment >= since for moment in made)
        if recent < _LAST:
            return f"{recent / _SECONDS:.1f} a second over the last minute"
        # The list is full before the minute is over: it says how long so many calls took.
        spent = max((made[0] - made[-1]) / 1e6, 1e-6)
        return f"{recent / spent:,.0f} a second"

    def _saved(self, savings: Mapping[str, Any]) -> str:
        words = counted(savings["total_tokens_saved"], "token")
        if "dollars_saved_usd_30d" in savings:
            dollars = Decimal(savings["dollars_saved_usd_30d"])
            words += f", {'-' if dollars < 0 else ''}${abs(dollars):,.6f}"
        return (
            f"{words} in {counted(savings['window_days'], 'day')}; {savings['share_pruned']:.1%} of"
            f" {counted(savings['calls_30d'], 'call')} pruned"
        )

    def _latency(self) -> str:
        times = [one["latency_micros"] / 1000 for one in self.decisions]
        if len(times) < 2:
            return "no calls yet" if not times else f"{times[0]:,.1f} ms"
        cuts = quantiles(times, n=20, method="inclusive")
        return f"median {cuts[9]:,.1f} ms, 95 % within {cuts[18]:,.1f} ms, of the last {len(times):,} calls"

    def _embedder(self) -> str:
        reasons = [str(one["ranking_reason"]) for one in self.decisions]
        failing = [reason for reason in reasons if reason.startswith("embedder_")]
        if failing:
            return (
                f"failed for {len(failing):,} of the last {counted(len(reasons), 'call')},"
                f" at last with {failing[0]}"
            )
        asked = any(one["ranking"] in ("HYBRID", "COSINE") for one in self.decisions)
        return "answers" if asked else "not needed by the last calls"


def look(service: Service) -> Figures:
    """Looks at a service once.

    Raises:
        NotAnsweredError: It does not answer, or refuses.
    """
    now = datetime.now(UTC)
    is_ready = service.is_ready()
    try:
        savings, decisions, problem = service.savings(DAYS), service.decisions(_LAST), ""
    except NotAnsweredError as error:
        if _NO_STORE not in str(error):
            raise
        savings, decisions, problem = None, [], "does not answer: calls go on, and their decisions wait"
    return Figures(is_ready, savings, decisions, problem, now)
