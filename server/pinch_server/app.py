"""The composition root: the one file that knows every adapter, and the order in which they start and stop."""

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from pinch_server import __version__, state
from pinch_server.clock import CountedIds, StandingClock, SystemClock, Uuid7Ids
from pinch_server.decide import Decider, Ranker
from pinch_server.embeddings.chosen import open_embedder
from pinch_server.embeddings.errors import ModelFilesError
from pinch_server.embeddings.provider import CachedEmbedder
from pinch_server.observe.logs import count_dropped, log_call
from pinch_server.observe.metrics import Metrics
from pinch_server.policy import counter_of, objective_of, policy_of, ranking_policy_of
from pinch_server.rpc.admin_service import AdminService
from pinch_server.rpc.asked_faults import AskedFaults
from pinch_server.rpc.insight_service import InsightService
from pinch_server.rpc.interceptors import standard_interceptors
from pinch_server.rpc.prune_service import PruneService
from pinch_server.rpc.server import METHODS, RunningServer, Services, start_server
from pinch_server.settings import Settings
from pinch_server.store import migrate
from pinch_server.store.engine import shown, sqlite_directory
from pinch_server.store.errors import DatabaseUnreachable
from pinch_server.store.store import Store
from pinch_server.web.http import HttpPort

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a running service is found.

    Attributes:
        grpc: Address of the gRPC port, `HOST:PORT` or `unix:PATH`.
        http: Address of /metrics and /healthz, `HOST:PORT`.
        database: URL of the database, its password hidden.
    """

    grpc: str
    http: str
    database: str


class StartError(Exception):
    """The service cannot start; the text says why and what would mend it."""


class App:
    """The service, from its start to its stop.

    Args:
        settings: The settings in force.
        testing: Whether its wall clock stands, its ids are numbers, and callers may ask for faults.
    """

    def __init__(self, settings: Settings, *, testing: bool = False) -> None:
        self._settings = settings
        self._testing = testing
        self._metrics = Metrics(version=__version__, methods=METHODS)
        count_dropped(self._metrics.log_line_dropped)
        self._server: RunningServer | None = None
        self._addresses: Addresses | None = None
        self._stops = ExitStack()

    @property
    def addresses(self) -> Addresses:
        """Where the service is found.

        Raises:
            RuntimeError: It is not started.
        """
        if self._addresses is None:
            raise RuntimeError("the service is not started")
        return self._addresses

    def start(self) -> None:
        """Starts every part, and takes calls from when it returns.

        A PostgreSQL server out of reach does not keep the service down: decisions wait in the journal,
        and the drain tries again until the database takes them. The schema is not looked at then; a database
        that comes back without this version's tables refuses the rows, which stay in the journal until
        `pinch migrate up` was run.

        Raises:
            StartError: A directory or an address cannot be used.
            StoreError: The database is there but not fit: a schema that is behind or ahead, a file that is no
                database. The text has the command to run.
        """
        # Whatever was started before a failure is stopped again, in the reverse order.
        with ExitStack() as stops:
            self._start(stops)
            self._stops = stops.pop_all()

    def stop(self) -> bool:
        """Stops in order: health says NOT_SERVING, calls in flight finish, the journal goes to the database.

        What the database does not take stays in the journal for the next start. Stopping twice is harmless.

        Returns:
            False when a thread is still at a call that it was to cut short.
        """
        stops, self._stops = self._stops, ExitStack()
        stops.close()
        return self._server is None or self._server.is_idle

    def _start(self, stops: ExitStack) -> None:
        settings = self._settings
        clock = StandingClock() if self._testing else SystemClock()
        ids = CountedIds() if self._testing else Uuid7Ids()
        try:
            state.prepare(settings)
            policy = policy_of(settings, state.session_key(settings))
        except OSError as error:
            raise StartError(f"the state directory cannot be used: {error}") from error
        http = self._start_http(stops)
        store = self._open_store(stops)
        ranker = Ranker(clock, ranking_policy_of(settings), self._open_embedder(clock, store, stops))
        decider = Decider(policy, counter_of(settings), store.recorder, self._metrics, clock, ids, ranker)
        insight = InsightService(
            store.insight,
            objective_of(settings),
            lambda: policy.is_enabled,
            policy.session_key,
            clock,
        )
        services = Services(PruneService(decider, self._metrics, clock), insight, AdminService())
        try:
            server = start_server(
                settings.server.listen,
                services,
                standard_interceptors(log_call, self._metrics, clock, ids.request_id),
                clock,
                threads=settings.server.threads,
                max_message_bytes=settings.server.max_message_bytes,
                outermost=(AskedFaults(),) if self._testing else (),
            )
        except OSError as error:
            raise StartError(str(error)) from error
        stops.callback(server.drain, settings.server.drain_seconds)
        self._server = server
        self._addresses = Addresses(server.address, http.address, _shown(state.database_url(settings)))

    def _start_http(self, stops: ExitStack) -> HttpPort:
        """Starts the HTTP port before all else and stops it last, so that probes see the whole of both."""
        listen = self._settings.server.http_listen
        http = HttpPort(listen, self._metrics.page, self._is_ready, metrics_type=self._metrics.content_type)
        try:
            http.start()
        except OSError as error:
            raise StartError(f"cannot listen on {listen}: {error.strerror or error}") from error
        stops.callback(http.close)
        return http

    def _open_embedder(self, clock: SystemClock, store: Store, stops: ExitStack) -> CachedEmbedder | None:
        try:
            embedder = open_embedder(self._settings.relevance, self._metrics, clock.monotonic, store.vectors)
        except ModelFilesError as error:
            raise StartError(f"{error}; or set relevance.scoring to lexical") from error
        if embedder is not None:
            stops.callback(embedder.close)
        return embedder

    def _open_store(self, stops: ExitStack) -> Store:
        settings = self._settings
        url = state.database_url(settings)
        try:
            migrate.ensure_current(url, settings.store.migrate)
        except DatabaseUnreachable as error:
            if sqlite_directory(url) is not None:
                # A file that cannot be opened here and now is not an outage: waiting does not mend it.
                raise
            _LOG.warning("decisions wait in the journal, and the schema is not checked: %s", error)
        store = Store(
            url,
            state.journal_directory(settings),
            self._metrics,
            journal_bytes=settings.journal.max_bytes,
            fsync=settings.journal.fsync,
            batch_rows=settings.journal.batch,
            grace_seconds=settings.outcome_grace_seconds,
            retention_days=settings.retention_days,
        )
        stops.callback(store.close)
        return store

    def _is_ready(self) -> bool:
        return self._server is not None and self._server.is_ready


def _shown(url: str) -> str:
    """The URL as people and programs may see it; that of a file as it is, for it has no password."""
    return url if sqlite_directory(url) is not None else shown(url)
