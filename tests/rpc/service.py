"""A whole service on a free loopback port, with everything real but the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.app.knobs import InForce, Knobs, turn_here
from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import Chars3, Counter
from pinch_server.core.decision import Decision, Outcome
from pinch_server.core.insight import (
    DecisionFilter,
    Page,
    Position,
    SavedTokens,
    SavingsQuery,
    StoredDecision,
)
from pinch_server.core.limits import ORIGINAL, Limits
from pinch_server.core.savings import Objective
from pinch_server.core.scoring import Scoring
from pinch_server.decide import Decider, Lanes, Newcomers, Policy, Ranker, RankingPolicy
from pinch_server.doors.certificates import Certificate
from pinch_server.doors.tokens import Tokens
from pinch_server.doors.watched import Watched
from pinch_server.embeddings.chosen import open_embedder
from pinch_server.observe.metrics import Metrics
from pinch_server.ports import Clock, Insight, InsightUnavailableError, Observer, Recorder
from pinch_server.rpc.admin_service import AdminService
from pinch_server.rpc.gates import Auth, Overload
from pinch_server.rpc.insight_service import InsightService
from pinch_server.rpc.interceptors import RpcMetrics, standard_interceptors
from pinch_server.rpc.pools import Threads
from pinch_server.rpc.prune_service import PruneService
from pinch_server.rpc.server import METHODS, RunningServer, Services, start_server
from pinch_server.rpc.traced import CallSpans
from pinch_server.settings import RelevanceSettings, Settings

MIB = 1024 * 1024
STANDARD = Objective()
BY_AGE = RelevanceSettings(scoring=Scoring.AGE)
SMALL = replace(ORIGINAL, budget_tokens=2_000, keep_last_turns=1, keep_last_rounds=4)


@dataclass
class Kept:
    """A Recorder that keeps everything in lists."""

    decisions: list[Decision] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def record(self, decision: Decision) -> bool:
        self.decisions.append(decision)
        return True

    def report(self, outcome: Outcome) -> bool:
        self.outcomes.append(outcome)
        return True

    def close(self) -> None:
        return


class Unavailable:
    """An Insight whose database is down."""

    def savings(self, query: SavingsQuery) -> SavedTokens:
        raise InsightUnavailableError(type(query).__name__)

    def decision(self, decision_id: str) -> StoredDecision | None:
        raise InsightUnavailableError(type(decision_id).__name__)

    def page(self, chosen: DecisionFilter, size: int, after: Position | None = None) -> Page:
        del size, after
        raise InsightUnavailableError(type(chosen).__name__)


@dataclass
class Service:
    """A running service and what it left behind."""

    server: RunningServer
    channel: grpc.Channel
    metrics: Metrics
    log: list[dict[str, Any]]
    threads: Threads
    lanes: Lanes

    @property
    def prune(self) -> PruneServiceStub:
        return PruneServiceStub(self.channel)

    @property
    def insight(self) -> InsightServiceStub:
        return InsightServiceStub(self.channel)

    def metric(self, line: str) -> float:
        """The value of a series, named as on the page."""
        page = self.metrics.page().decode()
        return float(next(row for row in page.splitlines() if row.startswith(f"{line} ")).rsplit(" ", 1)[1])


@contextmanager
def running(
    *,
    recorder: Recorder | None = None,
    counter: Counter | None = None,
    observer: Observer | None = None,
    rpc_metrics: RpcMetrics | None = None,
    limits: Limits = SMALL,
    is_enabled: bool = True,
    insight: Insight | None = None,
    objective: Objective = STANDARD,
    listen: str = "127.0.0.1:0",
    max_message_bytes: int = 64 * MIB,
    message_seconds: float = 30.0,
    relevance: RelevanceSettings = BY_AGE,
    threads: int = 8,
    most_calls: int | None = None,
    tokens: Watched[Tokens] | None = None,
    spans: CallSpans | None = None,
    certificate: Watched[Certificate] | None = None,
    max_age_seconds: float = 0,
    shows_itself: bool = False,
    has_channelz: bool = False,
    lanes_clock: Clock | None = None,
) -> Iterator[Service]:
    """Starts a service, and drains it in the end."""
    clock, metrics, log = SystemClock(), Metrics(version="0", methods=METHODS), []
    newcomers = Newcomers(clock)
    pools = Threads(threads, newcomers=newcomers)
    watcher = observer or metrics
    policy = Policy(limits, is_enabled, "fingerprint", b"key")
    embedder = open_embedder(relevance, metrics, clock.monotonic)
    ranking = RankingPolicy(relevance.scoring, relevance.timeout_seconds, relevance.min_candidates)
    ranker = Ranker(clock, ranking, embedder)
    in_force = InForce(Settings(), {})
    lanes = Lanes(lanes_clock or clock, lambda: metrics.call_shed("no_time"), threads, newcomers)
    decider = Decider(policy, counter or Chars3(), recorder or Kept(), watcher, clock, Uuid7Ids(), ranker)
    server = start_server(
        listen,
        Services(
            PruneService(decider, watcher, clock, lanes),
            InsightService(
                insight or Unavailable(), objective, lambda: policy.is_enabled, policy.session_key, clock
            ),
            AdminService(Knobs(in_force, turn_here(in_force)), lambda **facts: log.append(facts)),
        ),
        standard_interceptors(
            lambda **facts: log.append(facts),
            rpc_metrics or metrics,
            clock,
            lambda: "made-for-this-call",
            overload=most_calls and Overload(lambda: pools.calls.in_flight, most_calls, metrics),
            auth=tokens and Auth(tokens, metrics),
            spans=spans,
        ),
        clock,
        threads=pools,
        max_message_bytes=max_message_bytes,
        message_seconds=message_seconds,
        certificate=certificate,
        max_age_seconds=max_age_seconds,
        is_described=shows_itself,
        has_channelz=has_channelz,
    )
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    try:
        with grpc.insecure_channel(server.address, options=options) as channel:
            yield Service(server, channel, metrics, log, pools, lanes)
    finally:
        server.drain(5)
        if embedder is not None:
            embedder.close()


@dataclass(frozen=True)
class Refusal:
    """A status that is not OK, read."""

    code: grpc.StatusCode
    message: str
    reason: str
    violations: dict[str, str]
    request_id: str


def refusal(error: Any) -> Refusal:
    """Reads the rich status behind an RPC error."""
    status = rpc_status.from_call(error)
    info, bad, named = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RequestInfo(),
    )
    for detail in status.details if status else ():
        for kind in (info, bad, named):
            detail.Unpack(kind) if detail.Is(kind.DESCRIPTOR) else None
    return Refusal(
        code=error.code(),
        message=error.details(),
        reason=info.reason,
        violations={entry.field: entry.description for entry in bad.field_violations},
        request_id=named.request_id,
    )
