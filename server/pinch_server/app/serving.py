"""What takes calls in one process: store, embedder, use case and gRPC server."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from pinch_server import state
from pinch_server.app.doors import grpc_door, http_door, most_calls
from pinch_server.app.knobs import InForce, Knobs, Turn
from pinch_server.app.mouths import envoy_account, mouth_port
from pinch_server.app.start import StartError
from pinch_server.app.traces import open_traces
from pinch_server.clock import CountedIds, StandingClock, SystemClock, Uuid7Ids
from pinch_server.decide import Decider, Extracting, Lanes, Newcomers, Ranker
from pinch_server.embeddings.chosen import open_embedder
from pinch_server.embeddings.errors import ModelFilesError
from pinch_server.embeddings.provider import CachedEmbedder
from pinch_server.gateways.envoy.exchange import Around
from pinch_server.gateways.envoy.service import process_handler
from pinch_server.gateways.in_time import InTime
from pinch_server.observe.logs import log_call, log_change, log_filter
from pinch_server.observe.metrics import Metrics
from pinch_server.observe.traced import TracedObserver
from pinch_server.policy import counter_of, objective_of, policy_of, ranking_policy_of
from pinch_server.ports import Extractor, RoundTrips
from pinch_server.rpc.admin_service import AdminService
from pinch_server.rpc.asked_faults import AskedFaults
from pinch_server.rpc.call import current_tenant
from pinch_server.rpc.gates import Auth, Overload
from pinch_server.rpc.insight_service import InsightService
from pinch_server.rpc.interceptors import standard_interceptors
from pinch_server.rpc.pools import Threads
from pinch_server.rpc.prune_service import PruneService
from pinch_server.rpc.server import PROCESS, QUESTIONS, RunningServer, Services, start_server
from pinch_server.settings import Settings
from pinch_server.store.originals import DatabaseOriginals
from pinch_server.store.store import Store


class Serving:
    """Takes calls from `start` to `stop`.

    Args:
        in_force: The settings.
        turn: Turns knobs in every process of the service.
        metrics: Counts.
        testing: Whether its wall clock stands, its ids are numbers, and callers may ask for faults.
    """

    def __init__(self, in_force: InForce, turn: Turn, metrics: Metrics, *, testing: bool = False) -> None:
        self._in_force = in_force
        self._turn = turn
        self._settings = in_force.settings
        self._testing = testing
        self._metrics = metrics
        self._server: RunningServer | None = None
        self._mouths = ""
        self._is_store_closed = True
        self._stops = ExitStack()

    def start(
        self,
        listen: Sequence[str],
        *,
        shares_ports: bool = False,
        journal_bytes: int | None = None,
        mouths_listen: str = "",
    ) -> str:
        """Starts every part, and takes calls from when it returns.

        Args:
            listen: Addresses to take calls on.
            shares_ports: Whether other processes of this service listen on the same ports.
            journal_bytes: Bound of this process's journal (bytes); None: the setting's.
            mouths_listen: Address of the HTTP endpoints for gateways; empty for none.

        Returns:
            The first address, with the port that was taken for 0.

        Raises:
            StartError: The state directory or an address cannot be used.
            StoreError: The database is none that Pinch can use.
        """
        # Whatever was started before a failure is stopped again, in the reverse order.
        with ExitStack() as stops:
            address = self._start(stops, listen, shares_ports, journal_bytes, mouths_listen)
            self._stops = stops.pop_all()
        return address

    @property
    def mouths(self) -> str:
        """The address of the HTTP endpoints for gateways, its port the one taken for 0; empty for none."""
        return self._mouths

    @property
    def is_ready(self) -> bool:
        """Whether calls are taken."""
        return self._server is not None and self._server.is_ready

    @property
    def settings(self) -> Settings:
        """The settings in force, turned knobs included."""
        return self._in_force.settings

    def turn(self, knobs: Mapping[str, bool], *, persist: bool) -> None:
        """Turns knobs in every process before it returns.

        Raises:
            NotTurnedError: They were not turned, or not everywhere in time.
        """
        self._turn(knobs, persist)

    def stop(self) -> bool:
        """Stops in order: health says NOT_SERVING, calls in flight finish, the journal goes to the database.

        What the database does not take stays in the journal for the next start. Stopping twice is harmless.

        Returns:
            False when a thread is still at a call that it was to cut short, or at the database.
        """
        stops, self._stops = self._stops, ExitStack()
        stops.close()
        return self._is_store_closed and (self._server is None or self._server.is_idle)

    def _start(
        self,
        stops: ExitStack,
        listen: Sequence[str],
        shares_ports: bool,
        journal_bytes: int | None,
        mouths_listen: str,
    ) -> str:
        settings = self._settings
        clock = StandingClock() if self._testing else SystemClock()
        ids = CountedIds() if self._testing else Uuid7Ids()
        try:
            key = state.session_key(settings)
        except OSError as error:
            raise StartError(f"the state directory cannot be used: {error}") from error
        door = grpc_door(settings, self._metrics, clock.monotonic)
        traces = open_traces(settings.traces, self._metrics)
        if traces is not None:
            stops.callback(traces.close)
        observer = self._metrics if traces is None else TracedObserver(self._metrics, traces)
        store = self._open_store(stops, journal_bytes)
        embedder = self._open_embedder(clock, store, stops, None if traces is None else traces.round_trip)
        ranker = Ranker(clock, ranking_policy_of(settings), embedder)
        originals = self._open_originals(store)
        decider = Decider(
            policy_of(settings, key),
            counter_of(settings),
            store.recorder,
            observer,
            clock,
            ids,
            ranker,
            recent_bytes=settings.recent_bytes,
            extracting=Extracting(self._open_extractor(clock, store, originals, stops), originals),
        )
        newcomers = Newcomers(clock)
        lanes = Lanes(clock, lambda: self._metrics.call_shed("no_time"), settings.server.threads, newcomers)
        in_time = InTime(decider, lanes, clock, settings.server.threads, most_calls(settings))
        stops.callback(in_time.close, settings.server.drain_seconds)
        self._in_force.watch(lambda now: decider.set_policy(policy_of(now, key)))
        insight = InsightService(
            store.insight,
            objective_of(settings),
            lambda: decider.policy.is_enabled,
            key,
            clock,
        )
        admin = AdminService(Knobs(self._in_force, self._turn), log_change)
        prune = PruneService(decider, self._metrics, clock, lanes, originals, settings.extract.tenant)
        around = Around(in_time, settings.gateways.envoy_seconds, decider.report, clock)
        tenant = settings.extract.tenant
        process = process_handler(
            around, lambda *facts: envoy_account(self._metrics, *facts), lambda: current_tenant(tenant)
        )
        gateways = {PROCESS: process}
        services = Services(prune, insight, admin, gateways)
        streams = settings.gateways.envoy_streams
        threads = Threads(settings.server.threads, streams, newcomers)
        # Tests of clients may ask for more at once than this one process is fit for.
        most = None if self._testing else most_calls(settings)
        try:
            self._server = start_server(
                listen[0],
                services,
                standard_interceptors(
                    log_call,
                    self._metrics,
                    clock,
                    ids.request_id,
                    overload=None
                    if most is None
                    else Overload(
                        lambda: threads.calls.in_flight,
                        most,
                        self._metrics,
                        {
                            PROCESS: (lambda: threads.streams.in_flight, streams),
                            **dict.fromkeys(QUESTIONS, (lambda: threads.questions.in_flight, most)),
                        },
                    ),
                    auth=None if door.tokens is None else Auth(door.tokens, self._metrics),
                    spans=traces,
                ),
                clock,
                threads=threads,
                max_message_bytes=settings.server.max_message_bytes,
                message_seconds=settings.server.message_seconds,
                certificate=door.certificate,
                max_age_seconds=settings.server.max_connection_age_seconds,
                age_grace_seconds=settings.server.max_connection_grace_seconds,
                has_channelz=settings.server.channelz,
                also=listen[1:],
                shares_ports=shares_ports,
                is_described=settings.server.reflection,
                outermost=(AskedFaults(),) if self._testing else (),
            )
        except OSError as error:
            raise StartError(str(error)) from error
        stops.callback(self._server.drain, settings.server.drain_seconds)
        if mouths_listen:
            self._mouths = self._start_mouths(stops, decider, in_time, mouths_listen, shares_ports)
        return self._server.address

    def _start_mouths(
        self, stops: ExitStack, decider: Decider, in_time: InTime, listen: str, shares_port: bool
    ) -> str:
        door = http_door(self._settings, self._metrics, SystemClock().monotonic)
        port = mouth_port(self._settings, decider, in_time, self._metrics, door)
        try:
            address = port.start(listen, shares_port=shares_port)
        except OSError as error:
            raise StartError(f"cannot listen on {listen}: {error.strerror or error}") from error
        stops.callback(port.close)
        return address

    def _open_store(self, stops: ExitStack, journal_bytes: int | None) -> Store:
        settings = self._settings
        store = Store(
            state.database_url(settings),
            state.journal_directory(settings),
            self._metrics,
            journal_bytes=journal_bytes or settings.journal.max_bytes,
            fsync=settings.journal.fsync,
            batch_rows=settings.journal.batch,
            grace_seconds=settings.outcome_grace_seconds,
        )
        stops.callback(self._close_store, store)
        return store

    def _close_store(self, store: Store) -> None:
        self._is_store_closed = store.close()

    def _open_extractor(
        self, clock: SystemClock, store: Store, originals: DatabaseOriginals | None, stops: ExitStack
    ) -> Extractor | None:
        given = self._settings.extract
        if not given.enabled:
            return None
        # Only now: a client for HTTP and a sandbox are loaded where somebody is to be asked.
        from pinch_server.extract.chosen import open_extractor  # noqa: PLC0415
        from pinch_server.extract.sandbox import SandboxError  # noqa: PLC0415

        try:
            extractor, close = open_extractor(
                given,
                self._metrics.extraction,
                clock.monotonic,
                counter_of(self._settings),
                store.frozen,
                store.spending(given.daily_usd),
                originals,
                past_calls=store.past_calls,
                log_filter=log_filter,
            )
        except SandboxError as error:
            raise StartError(f"{error}; or set extract.enabled to false") from error
        stops.callback(close)
        return extractor

    def _open_originals(self, store: Store) -> DatabaseOriginals | None:
        given = self._settings.originals
        if not given.enabled:
            return None
        return store.keep_originals(
            given.key,
            ttl_seconds=given.ttl_seconds,
            max_chars=given.max_chars,
            max_bytes=given.max_bytes,
        )

    def _open_embedder(
        self, clock: SystemClock, store: Store, stops: ExitStack, around: RoundTrips | None
    ) -> CachedEmbedder | None:
        try:
            embedder = open_embedder(
                self._settings.relevance, self._metrics, clock.monotonic, store.vectors, around
            )
        except ModelFilesError as error:
            raise StartError(f"{error}; or set relevance.scoring to lexical") from error
        if embedder is not None:
            stops.callback(embedder.close)
        return embedder
