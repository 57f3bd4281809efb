"""The HTTP port over real sockets."""

import http.client
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from pinch_server.web.http import HttpPort

TYPE = "text/plain; version=0.0.4; charset=utf-8"
PAGE = b"# HELP a b\na 1\n"


class Switch:
    def __init__(self) -> None:
        self.on = True

    def __call__(self) -> bool:
        return self.on


@pytest.fixture
def ready() -> Switch:
    return Switch()


@pytest.fixture
def start() -> Iterator[Callable[..., HttpPort]]:
    """Starts ports that end with the test."""
    ports: list[HttpPort] = []

    def started(
        page: Callable[[], bytes] = lambda: PAGE,
        ready: Callable[[], bool] = lambda: True,
        listen: str = "127.0.0.1:0",
        connection_seconds: float = 10.0,
    ) -> HttpPort:
        port = HttpPort(listen, page, ready, metrics_type=TYPE, connection_seconds=connection_seconds)
        ports.append(port)
        port.start()
        return port

    yield started
    for port in ports:
        port.close()


def ask(port: HttpPort, method: str, path: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    with closing(http.client.HTTPConnection(port.address, timeout=10)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def exchange(port: HttpPort, sent: bytes) -> bytes:
    """Sends bytes and reads until the port ends the connection."""
    host, _, number = port.address.rpartition(":")
    with socket.create_connection((host, int(number)), timeout=10) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_metrics_are_served_as_they_are(start: Callable[..., HttpPort]) -> None:
    """/metrics answers the page's bytes with its media type, query or not."""
    port = start()
    for path in ("/metrics", "/metrics?name[]=a"):
        status, headers, body = ask(port, "GET", path)
        assert (status, headers["Content-Type"], body) == (200, TYPE, PAGE)


def test_health_follows_readiness(start: Callable[..., HttpPort], ready: Switch) -> None:
    """/healthz is 200 while the service takes calls and 503 while it does not."""
    port = start(ready=ready)
    assert ask(port, "GET", "/healthz")[::2] == (200, b"ok\n")
    ready.on = False
    assert ask(port, "GET", "/healthz")[::2] == (503, b"not ready\n")


@pytest.mark.parametrize(
    "path", ["/", "/metrics/", "/../etc/passwd", "/%2e%2e/etc/passwd", "/metrics%00", "//x/metrics"]
)
def test_any_other_path_is_not_found(start: Callable[..., HttpPort], path: str) -> None:
    """Nothing but the routes is served, and the answer does not quote the path."""
    assert ask(start(), "GET", path)[::2] == (404, b"not found\n")


def test_head_is_get_without_a_body(start: Callable[..., HttpPort]) -> None:
    """HEAD answers the same head, the length included, and no body."""
    status, headers, body = ask(start(), "HEAD", "/metrics")
    assert (status, headers["Content-Length"], body) == (200, str(len(PAGE)), b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_nothing_can_be_written(start: Callable[..., HttpPort], method: str) -> None:
    """Every method but GET and HEAD is refused with the ones that are allowed."""
    status, headers, body = ask(start(), method, "/metrics")
    assert (status, headers["Allow"], body) == (405, "GET, HEAD", b"only GET and HEAD\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET /<script> x HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(200)) + b"\r\n",
    ],
)
def test_a_malformed_request_is_answered_and_survived(start: Callable[..., HttpPort], sent: bytes) -> None:
    """Malformed bytes get a refusal that quotes nothing, and the next request is served."""
    port = start()
    try:
        answer = exchange(port, sent)
    except ConnectionResetError:
        answer = b""
    assert b"<script>" not in answer
    assert b"200" not in answer.partition(b"\r\n")[0]
    assert ask(port, "GET", "/metrics")[0] == 200


def test_the_server_does_not_say_what_it_is(start: Callable[..., HttpPort]) -> None:
    """No answer carries a Server header or a version of Python."""
    port = start()
    for sent in (
        b"GET /metrics HTTP/1.1\r\n\r\n",
        b"BREW / HTTP/1.1\r\n\r\n",
        b"nonsense more of it now\r\n\r\n",
    ):
        answer = exchange(port, sent).lower()
        assert b"server:" not in answer
        assert b"python" not in answer


def test_a_failing_page_is_an_error_and_no_more(start: Callable[..., HttpPort]) -> None:
    """A page that raises answers 500 without its message, and the port lives on."""

    def broken() -> bytes:
        raise RuntimeError("inner words")

    port = start(page=broken)
    assert ask(port, "GET", "/metrics")[::2] == (500, b"internal error\n")
    assert ask(port, "GET", "/healthz")[0] == 200


def test_a_client_that_says_nothing_is_cut(start: Callable[..., HttpPort]) -> None:
    """A connection whose time is over ends, however little it sent."""
    assert exchange(start(connection_seconds=0.0), b"GET /metr") == b""


def test_silent_clients_do_not_hold_the_port(start: Callable[..., HttpPort]) -> None:
    """With more silent connections than the port admits, it answers again once their time is over."""
    port = start(connection_seconds=0.5)
    host, _, number = port.address.rpartition(":")
    silent = [socket.create_connection((host, int(number)), timeout=10) for _ in range(80)]
    try:
        for connection in silent:
            # Both ways to end it say the same: the port let go.
            try:
                assert connection.recv(1) == b""
            except ConnectionResetError:
                continue
        assert ask(port, "GET", "/healthz")[0] == 200
    finally:
        for connection in silent:
            connection.close()


def test_port_zero_takes_a_free_port(start: Callable[..., HttpPort]) -> None:
    """Two ports that ask for a free one get different ones, and tell which."""
    assert start().address != start().address


def test_a_taken_address_is_an_error_at_the_start(start: Callable[..., HttpPort]) -> None:
    """Binding an address in use raises instead of serving nothing."""
    with pytest.raises(OSError, match="in use"):
        start(listen=start().address)


def test_ipv6_is_served(start: Callable[..., HttpPort]) -> None:
    """An IPv6 address in brackets is bound, and told in brackets."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    port = start(listen="[::1]:0")
    assert port.address.startswith("[::1]:")
    assert ask(port, "GET", "/healthz")[0] == 200


def test_closing_lets_go_of_the_address(start: Callable[..., HttpPort]) -> None:
    """After close, twice if need be, nobody answers and the address can be taken again."""
    port = start()
    address = port.address
    host, _, number = address.rpartition(":")
    with socket.create_connection((host, int(number)), timeout=10) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert connection.recv(1) == b"H"
        port.close()
        port.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(number)), timeout=10)
    assert start(listen=address).address == address


def test_a_port_that_is_not_started_has_no_address() -> None:
    """The address is known only once the port is bound."""
    port = HttpPort("127.0.0.1:0", lambda: PAGE, lambda: True, metrics_type=TYPE)
    with pytest.raises(RuntimeError, match="not started"):
        _ = port.address


@pytest.mark.parametrize("listen", ["unix:/tmp/x", "9464", "127.0.0.1:http"])
def test_an_address_that_is_no_tcp_address_is_refused(listen: str) -> None:
    """The port says at once that it cannot listen there."""
    with pytest.raises(ValueError, match=r"HOST:PORT|has no port"):
        HttpPort(listen, lambda: PAGE, lambda: True, metrics_type=TYPE)


def test_an_address_that_cannot_be_read_is_a_bad_request(start: Callable[..., HttpPort]) -> None:
    """A target that is no URL is answered with 400."""
    answer = exchange(start(), b"GET http://[::1/ HTTP/1.1\r\n\r\n")
    assert answer.split(b" ", 2)[1] == b"400"


def test_a_crowd_that_never_asks_keeps_nobody_out(start: Callable[..., HttpPort]) -> None:
    """Of more silent connections than there is room for, the oldest go; a probe is answered each time."""
    port = start(connection_seconds=60.0)
    host, _, number = port.address.rpartition(":")
    with ExitStack() as crowd:
        silent = []
        for count in range(200):
            connection = crowd.enter_context(socket.create_connection((host, int(number)), timeout=10))
            connection.sendall(b"GET /h")
            silent.append(connection)
            if count % 20 == 19:
                assert ask(port, "GET", "/healthz")[0] == 200
        assert silent[0].recv(1) == b""
