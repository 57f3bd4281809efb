"""The service, whatever the number of its processes: what it has once, and the order of start and stop."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from pinch_server import __version__, state
from pinch_server.app.dashboard import dashboard
from pinch_server.app.doors import http_door, warn_of_open_doors
from pinch_server.app.knobs import InForce, turn_here
from pinch_server.app.serving import Serving
from pinch_server.app.start import StartError, kept_knobs, prepare_schema, prepare_state
from pinch_server.app.workers import Workers
from pinch_server.clock import StandingClock, SystemClock
from pinch_server.listen import parse_listen
from pinch_server.observe.logs import count_dropped
from pinch_server.observe.metrics import Metrics
from pinch_server.rpc.server import METHODS
from pinch_server.settings import Settings, Source
from pinch_server.store.engine import open_engine, shown, sqlite_directory
from pinch_server.store.upkeep import Upkeep
from pinch_server.web.http import HttpPort
from pinch_server.workers.cores import available_cores


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a running service is found.

    Attributes:
        grpc: Address of the gRPC port, `HOST:PORT` or `unix:PATH`.
        http: Address of /metrics and /healthz, `HOST:PORT`.
        database: URL of the database, its password hidden.
        mouths: Address of the HTTP endpoints for gateways, `HOST:PORT`; empty where there are none.
        workers: Each worker's own gRPC address; empty where one process does all.
    """

    grpc: str
    http: str
    database: str
    workers: tuple[str, ...] = ()
    mouths: str = ""


class App:
    """The service, from its start to its stop.

    Args:
        settings: The settings in force.
        sources: Where each value came from, by its key; one that is missing is taken for the default.
        testing: Whether its wall clock stands, its ids are numbers, and callers may ask for faults; one
            process then does all.
    """

    def __init__(
        self, settings: Settings, sources: Mapping[str, Source] | None = None, *, testing: bool = False
    ) -> None:
        self._settings = settings
        self._sources = sources or {}
        self._testing = testing
        self._metrics = Metrics(version=__version__, methods=METHODS)
        count_dropped(self._metrics.log_line_dropped)
        self._calls: Serving | Workers | None = None
        self._addresses: Addresses | None = None
        self._is_whole = True
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
            StartError: A directory or an address cannot be used, or a worker cannot start.
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
            False when a call could not be cut short in time.
        """
        stops, self._stops = self._stops, ExitStack()
        stops.close()
        return self._is_whole

    def _start(self, stops: ExitStack) -> None:
        settings = self._settings
        prepare_state(settings)
        clock = StandingClock() if self._testing else SystemClock()
        knobs = kept_knobs(settings)
        warn_of_open_doors(settings)
        http = self._start_http(stops, clock)
        prepare_schema(settings)
        self._start_upkeep(stops, clock)
        count = 1 if self._testing else processes(settings)
        calls: Serving | Workers
        own: tuple[str, ...] = ()
        if count == 1:
            in_force = InForce(settings, self._sources, knobs)
            calls = Serving(in_force, turn_here(in_force), self._metrics, testing=self._testing)
            mouths = settings.gateways.listen if settings.gateways.mouths else ""
            address = calls.start([settings.server.listen], mouths_listen=mouths)
        else:
            calls = Workers(settings, self._sources, knobs, self._metrics, count)
            address, own = calls.start(), calls.addresses
        stops.callback(self._stop_calls)
        self._calls = calls
        self._addresses = Addresses(
            address, http.address, _shown(state.database_url(settings)), own, calls.mouths
        )

    def _stop_calls(self) -> None:
        if self._calls is not None:
            self._is_whole = self._calls.stop()

    def _start_http(self, stops: ExitStack, clock: SystemClock) -> HttpPort:
        """Starts the HTTP port before all else and stops it last, so that probes see the whole of both."""
        listen = self._settings.server.http_listen
        door = http_door(self._settings, self._metrics, clock.monotonic)
        http = HttpPort(
            listen,
            self._metrics.page,
            self._is_ready,
            metrics_type=self._metrics.content_type,
            tls=door.tls,
            tokens=door.tokens,
            refused=lambda problem: self._metrics.call_refused("http", problem),
            site=dashboard(self._settings, self._metrics, clock, lambda: self._calls)
            if self._settings.server.dashboard
            else None,
        )
        try:
            http.start()
        except OSError as error:
            raise StartError(f"cannot listen on {listen}: {error.strerror or error}") from error
        stops.callback(http.close)
        return http

    def _start_upkeep(self, stops: ExitStack, clock: SystemClock) -> None:
        settings = self._settings
        # Connected anew for each round: a file that was replaced meanwhile is not held on to.
        engine = open_engine(state.database_url(settings), durable=settings.journal.fsync, pooled=False)
        upkeep = Upkeep(
            engine,
            self._metrics,
            grace_seconds=float(settings.outcome_grace_seconds),
            retention_days=settings.retention_days,
            extracted_days=settings.extract.keep_days,
            originals_seconds=settings.originals.ttl_seconds,
            # The decisions' own clock: by another one, those of a server for tests are months old.
            now=lambda: clock.now().timestamp(),
        )
        upkeep.start()
        stops.callback(upkeep.close)

    def _is_ready(self) -> bool:
        return self._calls is not None and self._calls.is_ready


def processes(settings: Settings) -> int:
    """How many processes take calls."""
    if settings.server.workers != "auto":
        return settings.server.workers
    return 1 if parse_listen(settings.server.listen).path else available_cores()


def _shown(url: str) -> str:
    """The URL as people and programs may see it; that of a file as it is, for it has no password."""
    return url if sqlite_directory(url) is not None else shown(url)
