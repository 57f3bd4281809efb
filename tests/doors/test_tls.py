"""TLS on both ports, with real certificates: who is taken for whom, and what a change does to calls."""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest

from pinch import CallError, Limits, PinchClient, Tls
from pinch_server.doors.certificates import Certificate, server_context, watched_certificate
from pinch_server.doors.watched import Watched
from pinch_server.web.http import HttpPort
from tests.cli.commands import invoke
from tests.rpc.conversations import body
from tests.rpc.service import Service, running
from tests.services.certificates import Authority, Pair

SMALL = Limits(budget_tokens=2_000, keep_last_turns=1)


def watched(pair: Pair, client_roots: Path | None = None) -> Watched[Certificate]:
    return watched_certificate(pair.chain, pair.key, client_roots, lambda: 0.0)


def untried(pair: Pair) -> Watched[Certificate]:
    """A certificate that no server of ours would show, shown all the same."""

    def read() -> Certificate:
        return Certificate(pair.chain.read_bytes(), pair.key.read_bytes(), None, (), datetime.now(UTC))

    return Watched("certificate", [pair.chain], read, lambda: 0.0)


def call(service: Service, tls: Tls | None, *, at: str = "") -> bool:
    """Whether a call goes through; else CallError."""
    with PinchClient(at or service.server.address, strict=True, timeout=20, tls=tls) as client:
        return client.prune_openai(body(), limits=SMALL).pruned


def trusting(authority: Authority, **more: object) -> Tls:
    return Tls(root_certificates=authority.roots.read_bytes(), **more)  # type: ignore[arg-type]


def test_a_client_that_trusts_the_root_is_answered(authority: Authority, pair: Pair) -> None:
    """With the right root a call goes through over TLS, by address and by name."""
    with running(certificate=watched(pair)) as service:
        assert call(service, trusting(authority))
        assert call(service, trusting(authority, server_name="pinch.test"))


def test_plain_text_gets_no_answer(pair: Pair) -> None:
    """On a port with TLS no call goes through in plain text."""
    with running(certificate=watched(pair)) as service, pytest.raises(CallError) as refused:
        call(service, None)
    assert refused.value.code is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("command", [["top", "--once"], ["decisions"], ["expand", "x"], ["prune"]])
def test_a_command_says_what_to_change_about_tls(
    authority: Authority, pair: Pair, command: list[str]
) -> None:
    """Plain text to a port with TLS, and TLS to one without, are told as that, with the option to change."""
    with running(certificate=watched(pair)) as service:
        told = invoke(*command, "--server", service.server.address, stdin=body())
    assert told.exit_code == 1
    assert "if it speaks TLS, give --tls-ca FILE or --tls\n" in told.stderr
    with running() as service:
        told = invoke(
            *command, "--server", service.server.address, "--tls-ca", str(authority.roots), stdin=body()
        )
    assert told.exit_code == 1
    assert f"{service.server.address} does not speak TLS; leave out --tls" in told.stderr


def test_a_client_that_trusts_others_takes_no_answer(
    pair: Pair, tmp_path: Path, authority: Authority
) -> None:
    """A certificate of another authority, or for another name, is refused by the client."""
    with running(certificate=watched(pair)) as service:
        for tls in (trusting(Authority(tmp_path)), trusting(authority, server_name="else.test")):
            with pytest.raises(CallError) as refused:
                call(service, tls)
            assert refused.value.code is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("begins", "ends"), [("20200101000000Z", "20200102000000Z"), ("20980101000000Z", "20990101000000Z")]
)
def test_a_client_takes_no_certificate_out_of_its_time(authority: Authority, begins: str, ends: str) -> None:
    """Were an expired certificate or one of the future shown, no client would go on."""
    pair = authority.issue(f"from-{begins}", begins=begins, ends=ends)
    with running(certificate=untried(pair)) as service, pytest.raises(CallError) as refused:
        call(service, trusting(authority))
    assert refused.value.code is grpc.StatusCode.UNAVAILABLE


def test_with_client_roots_a_client_must_show_a_certificate(
    authority: Authority, pair: Pair, tmp_path: Path
) -> None:
    """Mutual TLS: a client of the authority is answered; one without a certificate, or of another, is not."""
    mine, other = authority.issue("client"), Authority(tmp_path).issue("stranger")
    with running(certificate=watched(pair, authority.roots)) as service:

        def shown(one: Pair) -> Tls:
            return trusting(
                authority, private_key=one.key.read_bytes(), certificate_chain=one.chain.read_bytes()
            )

        assert call(service, shown(mine))
        for tls in (trusting(authority), shown(other)):
            with pytest.raises(CallError) as refused:
                call(service, tls)
            assert refused.value.code is grpc.StatusCode.UNAVAILABLE


def test_certificates_change_under_load_without_a_failed_call(authority: Authority, place: Pair) -> None:
    """While callers call on old and on new connections, the pair changes ten times: no call fails."""
    pairs = [authority.issue(f"turn-{turn}") for turn in range(2)]
    stop, failures, calls = threading.Event(), [], [0, 0]

    with running(certificate=watched(place), max_age_seconds=1) as service:

        def on_one_connection() -> None:
            with PinchClient(
                service.server.address, strict=True, timeout=30, tls=trusting(authority)
            ) as client:
                while not stop.is_set():
                    calls[0] += one(client)

        def on_new_ones() -> None:
            while not stop.is_set():
                with PinchClient(
                    service.server.address, strict=True, timeout=30, tls=trusting(authority)
                ) as client:
                    calls[1] += one(client)

        def one(client: PinchClient) -> bool:
            try:
                return client.prune_openai(body(), limits=SMALL).pruned
            except CallError as error:
                failures.append(error)
                return False

        callers = [threading.Thread(target=on_one_connection), threading.Thread(target=on_new_ones)]
        for caller in callers:
            caller.start()
        for turn in range(10):
            before = list(calls)
            pairs[turn % 2].copy_to(place)
            while not failures and (calls[0] < before[0] + 2 or calls[1] < before[1] + 2):
                stop.wait(0.01)
        stop.set()
        for caller in callers:
            caller.join()
        assert failures == []
        assert shown_by(service, authority) == pairs[1].chain.read_bytes()


def shown_by(service: Service, authority: Authority) -> bytes:
    """The certificate that a new connection is shown, in PEM."""
    context = ssl.create_default_context(cafile=str(authority.roots))
    context.set_alpn_protocols(["h2"])
    host, _, port = service.server.address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), 10) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as secure,
    ):
        der = secure.getpeercert(binary_form=True)
    assert der is not None
    return ssl.DER_cert_to_PEM_cert(der).encode()


def test_a_broken_pair_leaves_the_one_before(authority: Authority, place: Pair) -> None:
    """After a key that does not fit, new connections are shown the old certificate, until both are new."""
    new = authority.issue("after-the-broken")
    with running(certificate=watched(place)) as service:
        old = place.chain.read_bytes()
        place.chain.write_bytes(new.chain.read_bytes())
        assert shown_by(service, authority) == old
        assert call(service, trusting(authority))
        new.copy_to(place)
        assert shown_by(service, authority) == new.chain.read_bytes()


def test_a_unix_socket_is_plain(pair: Pair, tmp_path: Path) -> None:
    """A socket file is reached in plain text whatever the TCP ports have."""
    with running(certificate=watched(pair), listen=f"unix:{tmp_path}/p.sock") as service:
        assert call(service, None)


@contextmanager
def https(place: Pair, seconds: float = 10.0) -> Iterator[HttpPort]:
    context = Watched(
        "certificate", [place.chain, place.key], lambda: server_context(place.chain, place.key), lambda: 0.0
    )
    port = HttpPort(
        "127.0.0.1:0",
        lambda: b"a 1\n",
        lambda: True,
        metrics_type="text/plain",
        tls=context,
        connection_seconds=seconds,
    )
    port.start()
    try:
        yield port
    finally:
        port.close()


def page(port: HttpPort, authority: Authority) -> bytes:
    context = ssl.create_default_context(cafile=str(authority.roots))
    with closing(http.client.HTTPSConnection(port.address, timeout=10, context=context)) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().read()


def test_the_http_port_speaks_tls(authority: Authority, place: Pair) -> None:
    """Pages come over TLS, with a new certificate once there is one, and nothing in plain text."""
    with https(place) as port:
        assert page(port, authority) == b"a 1\n"
        authority.issue("next").copy_to(place)
        assert page(port, authority) == b"a 1\n"
        with closing(http.client.HTTPConnection(port.address, timeout=10)) as plain:
            plain.request("GET", "/metrics")
            with pytest.raises((http.client.HTTPException, OSError)):
                plain.getresponse()


def test_a_handshake_that_drags_on_is_cut(authority: Authority, place: Pair) -> None:
    """A connection that never ends its handshake is ended in time, and others are answered meanwhile."""
    with https(place, seconds=0.5) as port:
        host, _, number = port.address.rpartition(":")
        with socket.create_connection((host, int(number)), timeout=20) as silent:
            assert page(port, authority) == b"a 1\n"
            assert silent.recv(1) == b""
