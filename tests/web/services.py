"""Real services over made-up histories, for the pages to be looked at."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import time_ns

from bench.conversations import generate_bytes
from bench.running_server import RunningServer, running_server
from pinch import PinchClient, RequestContext, Route
from pinch_server.core.decision import Decision
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from tests.web.month import fill


def now_micros() -> int:
    """Microseconds since the Unix epoch."""
    return time_ns() // 1000


def database_file(state: Path) -> Path:
    """Where the service of this state directory keeps its decisions."""
    return state / "pinch.sqlite3"


@contextmanager
def service_over(state: Path, decisions: Sequence[Decision], *options: str) -> Iterator[RunningServer]:
    """A service whose database holds these decisions."""
    url = f"sqlite:///{database_file(state)}"
    migrate.up(url)
    engine = open_engine(url, pooled=False)
    fill(engine, list(decisions), now_micros())
    engine.dispose()
    with running_server(state, *options) as service:
        yield service


def prune(
    service: RunningServer, calls: int = 1, tokens: int = 90_000, model: str = "claude-sonnet-4-5"
) -> str:
    """Has the service prune long conversations; the id of the last decision."""
    decision_id = ""
    with PinchClient(service.grpc) as pinch:
        for seed in range(calls):
            body = generate_bytes(seed, tokens=tokens, format="openai-chat")
            context = RequestContext(
                model=model,
                session_id=f"session-{seed}",
                request_id=f"req-live-{seed}",
                route=Route.ROUTE_ROUTED,
            )
            decision_id = pinch.prune_body(body, context=context).decision_id
    return decision_id
