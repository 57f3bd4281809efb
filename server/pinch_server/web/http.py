"""The HTTP port: a small server in a thread of its own.

It may speak TLS, and ask readers for a token (`doors.access` says which pages need one). It answers one
request a connection: GET and HEAD, and what the pages of a site take besides. A connection has a few seconds
in all, however slowly it drips, and there are only so many at once; when one more comes, the oldest that has
not asked yet has to go: neither a stuck scraper nor a crowd of them can hold the readiness probe.
"""

import logging
import re
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from pinch_server.doors.tokens import Problem, Refused, Tokens
from pinch_server.doors.watched import Watched
from pinch_server.listen import Listen, parse_listen
from pinch_server.web.exchange import Reply, Request
from pinch_server.web.guard import Guard
from pinch_server.web.sessions import Sessions

_LOG: Final = logging.getLogger(__name__)
_CONNECTION_SECONDS: Final = 10.0
_MOST_CONNECTIONS: Final = 64
_SWEEP_SECONDS: Final = 0.2
_MOST_BODY: Final = 64 * 1024
_LENGTH: Final = re.compile("[0-9]{1,9}")
_METHODS: Final = {"/metrics": ("GET",), "/healthz": ("GET",)}

Route = Callable[[], Reply]
"""Makes the reply to one GET of a path."""


class Site(Protocol):
    """Pages beside those for machines."""

    def methods(self, path: str) -> tuple[str, ...]:
        """What may be asked of a path; nothing where the site has no such page."""
        ...

    def answer(self, request: Request, guard: Guard) -> Reply:
        """Answers a request that `methods` allows."""
        ...


class HttpPort:
    """The server behind `server.http_listen`.

    Args:
        listen: `HOST:PORT`; port 0 takes a free one.
        metrics_page: Makes the page of `/metrics`.
        ready: Whether the service takes calls: `/healthz` answers 200, else 503.
        metrics_type: Media type of the metrics page.
        connection_seconds: The time one connection has in all (seconds).
        tls: What connections are encrypted with, taken anew for each; None: plain text.
        tokens: The tokens that are valid; None: readers need none.
        refused: Counts a request that was refused for want of the right token.
        site: Further pages; None: there are none.

    Raises:
        ValueError: `listen` is not a TCP address.
    """

    def __init__(
        self,
        listen: str,
        metrics_page: Callable[[], bytes],
        ready: Callable[[], bool],
        *,
        metrics_type: str,
        connection_seconds: float = _CONNECTION_SECONDS,
        tls: Watched[ssl.SSLContext] | None = None,
        tokens: Watched[Tokens] | None = None,
        refused: Callable[[Problem], None] = lambda _problem: None,
        site: Site | None = None,
    ) -> None:
        self._listen = parse_listen(listen)
        if self._listen.path:
            raise ValueError(f"{listen} is a unix socket; the HTTP port needs HOST:PORT")
        self._connection_seconds = connection_seconds
        self._tls = tls
        guard = Guard(tokens, refused, Sessions(time.monotonic), is_local=self._listen.is_local)
        routes: Mapping[str, Route] = {
            "/metrics": lambda: Reply(metrics_page(), metrics_type),
            "/healthz": lambda: Reply(b"ok\n") if ready() else Reply(b"not ready\n", status=503),
        }
        self._pages = _Pages(routes, guard, site)
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Binds the address and answers from now on.

        Raises:
            OSError: The address cannot be bound.
        """
        server = _Server(self._listen, self._pages, self._connection_seconds, self._tls)
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, args=(_SWEEP_SECONDS,), name="pinch-http", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """`HOST:PORT` as bound, the port that was taken for 0 included.

        Raises:
            RuntimeError: The port is not started.
        """
        if self._server is None:
            raise RuntimeError("the HTTP port is not started")
        return str(Listen(host=self._listen.host, port=self._server.server_address[1]))

    def close(self) -> None:
        """Stops listening and cuts what is still connected; closing twice is harmless."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is None or thread is None:
            return
        server.shutdown()
        thread.join()
        server.cut(opened_before=time.monotonic())
        server.server_close()


class _Pages:
    """All pages of the port, behind their guard."""

    def __init__(self, routes: Mapping[str, Route], guard: Guard, site: Site | None) -> None:
        self._routes = routes
        self._guard = guard
        self._site = site

    def methods(self, path: str) -> tuple[str, ...]:
        """What may be asked of a path; whatever is not there may be looked for."""
        if path in self._routes or self._site is None:
            return _METHODS.get(path, ("GET",))
        return self._site.methods(path) or ("GET",)

    def answer(self, request: Request) -> Reply:
        """Answers a request."""
        if self._site is not None and self._site.methods(request.path):
            return self._site.answer(request, self._guard)
        try:
            self._guard.admit(request)
        except Refused as refused:
            return Reply(f"{refused}\n".encode(), status=403 if refused.problem == "wrong_role" else 401)
        route = self._routes.get(request.path)
        return Reply(b"not found\n", status=404) if route is None else route()


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = _MOST_CONNECTIONS

    server_address: tuple[str, int]

    def __init__(
        self,
        listen: Listen,
        pages: _Pages,
        connection_seconds: float,
        tls: Watched[ssl.SSLContext] | None,
    ) -> None:
        found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.address_family = found[0][0]
        self.pages = pages
        self.tls = tls
        self.connection_seconds = connection_seconds
        self._open: dict[socket.socket, float] = {}
        self._asking: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__((listen.host, listen.port), _Handler)

    def verify_request(self, request: object, client_address: object) -> bool:
        """Admits a connection while there is room for it, or an older one that has not asked yet."""
        del client_address
        if not isinstance(request, socket.socket):
            return False
        with self._lock:
            if len(self._open) >= _MOST_CONNECTIONS:
                silent = next((one for one in self._open if one not in self._asking), None)
                if silent is None:
                    return False
                del self._open[silent]
                _end(silent)
            self._open[request] = time.monotonic()
        return True

    def asked(self, connection: socket.socket) -> None:
        """Notes that a connection's request was read whole."""
        with self._lock:
            self._asking.add(connection)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a connection, encrypted where the port is."""
        if self.tls is None:
            super().process_request_thread(request, client_address)
            return
        try:
            # The handshake comes with the first read, when the connection is already one that may be cut.
            encrypted = self.tls.current().wrap_socket(
                request, server_side=True, do_handshake_on_connect=False
            )
        except OSError:
            self.handle_error(request, client_address)
            self.shutdown_request(request)
            return
        with self._lock:
            opened = self._open.pop(request, None)
            if opened is not None:
                self._open[encrypted] = opened
        super().process_request_thread(encrypted, client_address)

    def shutdown_request(self, request: object) -> None:
        """Forgets a connection and closes it."""
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.pop(request, None)
                self._asking.discard(request)
            super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cuts the connections whose time is over; called between the accepts."""
        self.cut(opened_before=time.monotonic() - self.connection_seconds)

    def cut(self, *, opened_before: float) -> None:
        """Ends the connections opened before a moment; their threads then close them."""
        with self._lock:
            late = [connection for connection, opened in self._open.items() if opened <= opened_before]
            for connection in late:
                _end(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """Keeps a client that went away out of the log."""
        del request, client_address
        _LOG.debug("a connection to the HTTP port broke off", exc_info=True)


def _end(connection: socket.socket) -> None:
    """Ends a connection; its thread then closes it."""
    try:
        # Not by the method of an encrypted one, which would take its encryption from under its thread.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        _LOG.debug("a connection was gone before it was cut")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._handle()

    def do_HEAD(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def _handle(self) -> None:
        try:
            parts = urlsplit(self.path)
        except ValueError:
            self._answer(Reply(b"bad request\n", status=400))
            return
        method = "GET" if self.command == "HEAD" else self.command
        allowed = self.server.pages.methods(parts.path)
        if method not in allowed:
            self.server.asked(self.connection)
            self._answer_wrong_method(allowed)
            return
        body = self._body()
        self.server.asked(self.connection)
        if body is None:
            self._answer(Reply(b"the body's length must be given, and be 64 KiB at most\n", status=413))
            return
        request = Request(
            method,
            parts.path,
            parts.query,
            {name.lower(): value for name, value in self.headers.items()},
            body,
            isinstance(self.connection, ssl.SSLSocket),
            str(Listen(self.client_address[0], self.client_address[1])),
        )
        try:
            reply = self.server.pages.answer(request)
        except Exception:  # noqa: BLE001 a page that fails must not take the port with it
            _LOG.exception("a page of the HTTP port failed")
            reply = Reply(b"internal error\n", status=500)
        self._answer(reply)

    def _body(self) -> bytes | None:
        """The body, empty where there is none; None when it is too long or its length is not told."""
        if self.command in ("GET", "HEAD"):
            return b""
        length = self.headers.get("Content-Length", "")
        if not _LENGTH.fullmatch(length) or int(length) > _MOST_BODY:
            return None
        return self.rfile.read(int(length))

    def _answer_wrong_method(self, allowed: tuple[str, ...]) -> None:
        named = [name for one in allowed for name in ((one, "HEAD") if one == "GET" else (one,))]
        words = f"only {', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else f"only {named[0]}"
        self._answer(Reply(f"{words}\n".encode(), status=405, headers=(("Allow", ", ".join(named)),)))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers what http.server refuses by itself, without quoting the request."""
        del message, explain
        # http.server says 501 for a method without a handler; here every other method is refused.
        if code == 501:
            self._answer_wrong_method(self.server.pages.methods(self.path.partition("?")[0]))
        else:
            self._answer(Reply(b"bad request\n", status=code))

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing: probes and scrapes would drown the log."""

    def _answer(self, reply: Reply) -> None:
        self.close_connection = True
        self.send_response_only(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        if not any(name == "Cache-Control" for name, _ in reply.headers):
            self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")
        if reply.status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        for name, value in reply.headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)
