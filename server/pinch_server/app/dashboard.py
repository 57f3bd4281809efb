"""The dashboard's view of the service: the same InsightService as over gRPC, and the service as it stands."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from pinch_server import __version__, state
from pinch_server.clock import SystemClock
from pinch_server.core.activity import columns, tools
from pinch_server.core.insight import DecisionFilter
from pinch_server.core.moments import unix_micros
from pinch_server.doors.tokens import Token
from pinch_server.observe.extraction_summary import extraction_summary
from pinch_server.observe.logs import log_change
from pinch_server.observe.metrics import Metrics
from pinch_server.observe.summary import summary
from pinch_server.policy import objective_of
from pinch_server.ports import InsightUnavailableError
from pinch_server.rpc.insight_json import InsightJson
from pinch_server.rpc.insight_service import InsightService
from pinch_server.settings import Settings, knobs_of
from pinch_server.store.engine import open_engine, sqlite_directory
from pinch_server.store.insight import DatabaseInsight
from pinch_server.web.api import Api
from pinch_server.web.site import Dashboard


class Calls(Protocol):
    """What takes the calls, in however many processes."""

    @property
    def is_ready(self) -> bool:
        """Whether calls are taken."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings in force, turned knobs included."""
        ...

    def turn(self, knobs: Mapping[str, bool], *, persist: bool) -> None:
        """Turns knobs in every process before it returns; may raise NotTurnedError."""
        ...


@dataclass(frozen=True, slots=True)
class _Standing:
    """The service as it stands, for `web.api`."""

    start: Settings
    calls: Callable[[], Calls | None]
    insight: DatabaseInsight
    metrics: Metrics
    clock: SystemClock
    started_at: int

    @property
    def settings(self) -> Settings:
        calls = self.calls()
        return self.start if calls is None else calls.settings

    def state(self) -> dict[str, Any]:
        calls, settings = self.calls(), self.settings
        newest, problem = self._newest()
        counted = tuple(self.metrics.collect())
        return {
            "version": __version__,
            "now_unix_micros": unix_micros(self.clock.now()),
            "started_at_unix_micros": self.started_at,
            "is_ready": calls is not None and calls.is_ready,
            "is_enabled": settings.enabled,
            "outcome_grace_seconds": settings.outcome_grace_seconds,
            "database": {"kind": self._kind(), "problem": problem},
            "newest_decision_unix_micros": newest,
            **asdict(summary(counted)),
            "extraction": asdict(extraction_summary(counted)) if settings.extract.enabled else None,
        }

    def activity(self, days: int) -> dict[str, Any]:
        now = unix_micros(self.clock.now())
        hours = self.insight.activity(now, days)
        return {**columns(hours, now), "tools": tools(hours)}

    def knobs(self) -> dict[str, bool]:
        return knobs_of(self.settings)

    def turn(self, knobs: Mapping[str, bool], *, persist: bool, token: Token | None, peer: str) -> None:
        calls, before = self.calls(), self.knobs()
        if calls is None:
            return
        try:
            calls.turn(knobs, persist=persist)
        finally:
            # A change that not every process has confirmed may be in force all the same.
            after = self.knobs()
            log_change(
                request_id=None,
                peer=peer,
                token=None if token is None else token.name,
                roles=[] if token is None else sorted(token.roles),
                changes={key: (before[key], after[key]) for key in knobs},
                persist=persist,
            )

    def _newest(self) -> tuple[int | None, str]:
        try:
            found = self.insight.page(DecisionFilter(), 1).decisions
        except InsightUnavailableError as error:
            return None, type(error.__cause__).__name__
        return (found[0].decision.created_at if found else None), ""

    def _kind(self) -> str:
        return "SQLite" if sqlite_directory(state.database_url(self.start)) else "PostgreSQL"


def dashboard(
    settings: Settings, metrics: Metrics, clock: SystemClock, calls: Callable[[], Calls | None]
) -> Dashboard:
    """Makes the dashboard; the state directory must be prepared.

    Args:
        settings: The settings at the start.
        metrics: Counts of all processes.
        clock: The time that savings are asked for.
        calls: What takes the calls; None until it does.
    """
    # Connected anew for each question: a file that was replaced meanwhile is not held on to.
    engine = open_engine(state.database_url(settings), pooled=False)
    insight = DatabaseInsight(engine, grace_us=settings.outcome_grace_seconds * 1_000_000)
    standing = _Standing(settings, calls, insight, metrics, clock, unix_micros(clock.now()))
    service = InsightService(
        insight,
        objective_of(settings),
        lambda: standing.settings.enabled,
        state.session_key(settings),
        clock,
    )
    return Dashboard(Api(InsightJson(service), standing))
