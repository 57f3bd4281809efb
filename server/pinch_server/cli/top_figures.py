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
        yield "calls", self._calls()
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

    def fields(self) -> dict[str, Any]:
        """What programs read: figures and decisions, those of the API under its names.

        What is not known is None: figures while the database is away, savings while pruning is off, a
        latency before the first call.
        """
        is_known = not self.problem
        median, within = self._latencies() or (None, None)
        failing = self._failing()
        return {
            "looked_at_unix_micros": round(self.now.timestamp() * 1e6),
            "is_ready": self.is_ready,
            "database_problem": self.problem,
            "calls_per_second": self._rate()[0] if is_known else None,
            "latency_median_ms": median,
            "latency_p95_ms": within,
            "embedder_asked": self._is_embedder_asked() if is_known else None,
            "embedder_failed_calls": len(failing) if is_known else None,
            "embedder_fault": failing[0] if failing else "",
            "savings": self.savings,
            "decisions": list(self.decisions[:_SHOWN]),
        }

    def _rate(self) -> tuple[float, bool]:
        """The calls a second, and whether they are those of a whole minute."""
        since = self.now.timestamp() * 1e6 - _SECONDS * 1e6
        made = [one["created_at_unix_micros"] for one in self.decisions]
        recent = sum(moment >= since for moment in made)
        if recent < _LAST:
            return recent / _SECONDS, True
        # The list is full before the minute is over: it says how long so many calls took.
        return recent / max((made[0] - made[-1]) / 1e6, 1e-6), False

    def _calls(self) -> str:
        rate, is_minute = self._rate()
        return f"{rate:.1f} a second over the last minute" if is_minute else f"{rate:,.0f} a second"

    def _saved(self, savings: Mapping[str, Any]) -> str:
        words = counted(savings["total_tokens_saved"], "token")
        if "dollars_saved_usd_30d" in savings:
            dollars = Decimal(savings["dollars_saved_usd_30d"])
            words += f", {'-' if dollars < 0 else ''}${abs(dollars):,.6f}"
        return (
            f"{words} in {counted(savings['window_days'], 'day')}; {savings['share_pruned']:.1%} of"
            f" {counted(savings['calls_30d'], 'call')} pruned"
        )

    def _latencies(self) -> tuple[float, float] | None:
        """The median and the 95th percentile of the calls that are listed (milliseconds)."""
        times = [one["latency_micros"] / 1000 for one in self.decisions]
        if len(times) < 2:
            return (times[0], times[0]) if times else None
        cuts = quantiles(times, n=20, method="inclusive")
        # They were measured in microseconds.
        return round(cuts[9], 3), round(cuts[18], 3)

    def _latency(self) -> str:
        found = self._latencies()
        if found is None:
            return "no calls yet"
        median, within = found
        made = len(self.decisions)
        if made == 1:
            return f"{median:,.1f} ms"
        return f"median {median:,.1f} ms, 95 % within {within:,.1f} ms, of the last {counted(made, 'call')}"

    def _failing(self) -> list[str]:
        """The reasons of the calls that the embedder failed, the newest first."""
        reasons = (str(one["ranking_reason"]) for one in self.decisions)
        return [reason for reason in reasons if reason.startswith("embedder_")]

    def _is_embedder_asked(self) -> bool:
        return any(one["ranking"] in ("HYBRID", "COSINE") for one in self.decisions) or bool(self._failing())

    def _embedder(self) -> str:
        failing = self._failing()
        if failing:
            made = counted(len(self.decisions), "call")
            return f"failed for {len(failing):,} of the last {made}, at last with {failing[0]}"
        return "answers" if self._is_embedder_asked() else "not needed by the last calls"


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
