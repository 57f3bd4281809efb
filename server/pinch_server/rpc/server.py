"""The synchronous gRPC server: its options, its health, its start and its drain."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
from grpc_channelz.v1.channelz import add_channelz_servicer
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from pinch.v1 import admin_pb2, admin_pb2_grpc, insight_pb2, insight_pb2_grpc, prune_pb2, prune_pb2_grpc
from pinch_server.doors.certificates import Certificate
from pinch_server.doors.watched import Watched
from pinch_server.listen import Listen, parse_listen
from pinch_server.ports import Clock
from pinch_server.rpc.admin_service import AdminService
from pinch_server.rpc.chain import Chain, Gate, Interceptor
from pinch_server.rpc.insight_service import InsightService
from pinch_server.rpc.pools import Threads
from pinch_server.rpc.prune_service import PruneService
from pinch_server.rpc.reflection import add_reflection
from pinch_server.rpc.tls import server_credentials
from pinch_server.rpc.wire import SplitRequest

_CANCEL_SECONDS: Final = 5.0
"""How long calls that were cut short may take to notice it (seconds)."""

_IDLE_SECONDS: Final = 1.0
"""How long threads that have no call may take to end (seconds)."""

_SERVICES: Final = tuple(
    service
    for file in (prune_pb2, insight_pb2, admin_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
)
SERVICE_NAMES: Final = tuple(service.full_name for service in _SERVICES)
"""Full names of the services, as health checks name them."""
PRUNE: Final = "/pinch.v1.PruneService/Prune"
"""Full name of the method of the hot path."""
PROCESS: Final = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
"""Full name of the method that Envoy calls."""
QUESTIONS: Final = (
    "/pinch.v1.PruneService/Expand",
    "/pinch.v1.InsightService/GetSavings",
    "/pinch.v1.InsightService/GetDecision",
    "/pinch.v1.InsightService/ListDecisions",
)
"""Full names of the methods that ask the database."""
METHODS: Final = (
    *(f"/{service.full_name}/{method.name}" for service in _SERVICES for method in service.methods),
    f"/{health.SERVICE_NAME}/Check",
    PROCESS,
)
"""Full names of the methods whose calls are counted."""


@dataclass(frozen=True, slots=True)
class Services:
    """What is served.

    Attributes:
        prune: The hot path.
        insight: Questions about stored decisions.
        admin: Settings and knobs.
        gateways: Methods of others' protocols, by full name; each is a stream with a thread of its own.
    """

    prune: PruneService
    insight: InsightService
    admin: AdminService
    gateways: Mapping[str, "grpc.RpcMethodHandler[bytes, bytes]"] = field(default_factory=dict)


class RunningServer:
    """A server that takes calls until it is drained."""

    def __init__(
        self,
        server: grpc.Server,
        threads: Threads,
        chain: Chain,
        readiness: health.HealthServicer,
        address: str,
        names: Sequence[str],
    ) -> None:
        self.address: Final = address
        """Where it listens, `HOST:PORT` or `unix:PATH`, with the port that was taken for 0."""
        self._server = server
        self._threads = threads
        self._chain = chain
        self._readiness = readiness
        self._names = (health.OVERALL_HEALTH, *names)
        self._is_ready = False
        self._is_draining = False

    @property
    def is_ready(self) -> bool:
        """Whether health checks answer SERVING."""
        return self._is_ready and not self._is_draining

    def set_ready(self, *, is_ready: bool) -> None:
        """Sets what health checks answer, overall and for each service; after `drain` it changes nothing."""
        status = health_pb2.HealthCheckResponse.ServingStatus
        for name in self._names:
            self._readiness.set(name, status.SERVING if is_ready else status.NOT_SERVING)
        self._is_ready = is_ready

    def drain(self, grace_seconds: float) -> None:
        """Stops: health answers NOT_SERVING, new calls are refused, calls in flight finish.

        Args:
            grace_seconds: How long calls in flight may take; after that they are cut short (seconds).
        """
        self._is_draining = True
        self._readiness.enter_graceful_shutdown()
        stopped = self._server.stop(grace_seconds)
        stopped.wait(grace_seconds + _CANCEL_SECONDS)
        self._threads.shutdown()
        self._chain.close()
        over = time.monotonic() + _IDLE_SECONDS
        for worker in tuple(self._threads.started):
            worker.join(max(0.0, over - time.monotonic()))

    @property
    def is_idle(self) -> bool:
        """After `drain`, whether every thread has ended; False tells of one that cannot be cut short."""
        return not any(worker.is_alive() for worker in tuple(self._threads.started))


def start_server(
    listen: str,
    services: Services,
    interceptors: Sequence[Interceptor | Gate],
    clock: Clock,
    *,
    threads: Threads,
    max_message_bytes: int,
    message_seconds: float = 30.0,
    certificate: Watched[Certificate] | None = None,
    max_age_seconds: float = 0,
    age_grace_seconds: float = 0,
    has_channelz: bool = False,
    is_described: bool = False,
    outermost: Sequence[grpc.ServerInterceptor] = (),  # type: ignore[type-arg] # generic in the stubs alone
    also: Sequence[str] = (),
    shares_ports: bool = False,
) -> RunningServer:
    """Binds the addresses and takes calls from now on.

    Args:
        listen: `HOST:PORT`, port 0 for a free one, or `unix:PATH`.
        services: What is served.
        interceptors: What every call goes through, the outermost first.
        clock: Tells when a call began.
        threads: What calls are answered on.
        max_message_bytes: Largest message received (bytes).
        message_seconds: How long a message may take once its call has begun (seconds).
        certificate: What a TCP port shows its clients; None: plain text. A unix socket is always plain.
        max_age_seconds: Age at which a connection is renewed; 0: never (seconds).
        age_grace_seconds: Time that calls on such a connection have to finish (seconds).
        has_channelz: Whether tools may look at the connections.
        is_described: Whether tools may ask which methods there are.
        outermost: What stands around even the interceptors, on raw bytes.
        also: Further addresses.
        shares_ports: Whether other processes of this service listen on the same ports.

    Raises:
        ValueError: `listen` is not an address.
        OSError: It cannot be bound.
    """
    wanted = parse_listen(listen)
    chain = Chain(
        interceptors,
        clock,
        {PRUNE: SplitRequest.decode},
        threads.spare,
        message_seconds,
        dict.fromkeys(services.gateways, threads.streams) | dict.fromkeys(QUESTIONS, threads.questions),
    )
    server = grpc.server(
        threads.calls,
        interceptors=[*outermost, chain],
        options=[
            *_options(max_message_bytes, shares_ports=shares_ports),
            *_age_options(max_age_seconds, age_grace_seconds),
            ("grpc.enable_channelz", int(has_channelz)),
        ],
        compression=grpc.Compression.NoCompression,
    )
    prune_pb2_grpc.add_PruneServiceServicer_to_server(services.prune, server)
    insight_pb2_grpc.add_InsightServiceServicer_to_server(services.insight, server)
    admin_pb2_grpc.add_AdminServiceServicer_to_server(services.admin, server)
    names = list(SERVICE_NAMES)
    for method, handler in services.gateways.items():
        service, _, name = method.removeprefix("/").partition("/")
        names.append(service)
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {name: handler})])
    readiness = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(readiness, server)
    if is_described:
        add_reflection((*SERVICE_NAMES, health.SERVICE_NAME), server)
    if has_channelz:
        add_channelz_servicer(server)
    try:
        port = _bind(server, wanted, certificate)
        for address in also:
            _bind(server, parse_listen(address), certificate)
    except OSError:
        threads.shutdown()
        raise
    running = RunningServer(server, threads, chain, readiness, _bound(wanted, port), names)
    running.set_ready(is_ready=True)
    server.start()
    return running


def _bind(server: grpc.Server, wanted: Listen, certificate: Watched[Certificate] | None) -> int:
    try:
        if certificate is not None and not wanted.path:
            # Each port has credentials of its own: they remember which certificate they showed last.
            return server.add_secure_port(str(wanted), server_credentials(certificate))
        return server.add_insecure_port(str(wanted))
    except RuntimeError as error:
        raise OSError(f"cannot listen on {wanted}: {error}") from None


def _bound(wanted: Listen, port: int) -> str:
    return str(wanted if wanted.path else Listen(host=wanted.host, port=port))


def _age_options(seconds: float, grace_seconds: float) -> list[tuple[str, int]]:
    if not seconds:
        return []
    return [
        ("grpc.max_connection_age_ms", int(seconds * 1000)),
        ("grpc.max_connection_age_grace_ms", int(grace_seconds * 1000)),
    ]


def _options(max_message_bytes: int, *, shares_ports: bool) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        # A reply holds little beside its request; one of the greatest size must still be given back.
        ("grpc.max_send_message_length", -1),
        # A port that another process listens on is an error, not a share of the calls.
        ("grpc.so_reuseport", int(shares_ports)),
        # Clients ping twice a minute, also between calls; the least that gRPC lets a server ask for is more.
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        # A client that vanished without a word frees its connection within a minute.
        ("grpc.keepalive_time_ms", 40_000),
        ("grpc.keepalive_timeout_ms", 10_000),
    ]
