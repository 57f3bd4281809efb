"""C5, C7: the ways to a server - several addresses, unix socket, TLS, mutual TLS."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from pinch import AsyncPinchClient, PinchClient, Tls
from tests.clients.python.scripted import ScriptedServer, within_budget

BODY = b'{"messages":[]}'

Run = Callable[..., Any]


@dataclass(frozen=True)
class Identity:
    """A self-signed certificate for 127.0.0.1 and pinch.test, with its key, in PEM."""

    certificate: bytes
    key: bytes


@pytest.fixture(scope="session")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    if shutil.which("openssl") is None:
        reason = "openssl, which makes the test's certificate, is not installed"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return made_identity(tmp_path_factory.mktemp("tls"))


def made_identity(folder: Path) -> Identity:
    """A fresh identity, whose files are in a folder."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-days", "2", "-subj", "/CN=pinch.test"),
            *("-addext", "subjectAltName=DNS:pinch.test,IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return Identity(certificate.read_bytes(), key.read_bytes())


def test_several_addresses_are_called_in_turn() -> None:
    """C5: with two servers one client's calls reach both, through one channel."""
    with ScriptedServer() as one, ScriptedServer() as two:
        one.answer(within_budget)
        two.answer(within_budget)
        with PinchClient([one.address, two.address], timeout=30) as client:
            while not (one.calls and two.calls):
                assert client.prune_openai(BODY).error is None


async def test_several_addresses_are_called_in_turn_by_asyncio() -> None:
    """C5: the same with asyncio, the addresses given as one text."""
    with ScriptedServer() as one, ScriptedServer() as two:
        one.answer(within_budget)
        two.answer(within_budget)
        async with AsyncPinchClient(f"{one.address}, {two.address}", timeout=30) as client:
            while not (one.calls and two.calls):
                results = await asyncio.gather(*(client.prune_openai(BODY) for _ in range(4)))
                assert all(result.error is None for result in results)


def test_one_server_gone_is_survived(run: Run) -> None:
    """C5: with one of two addresses dead, calls go to the other."""
    with ScriptedServer() as gone:
        dead = gone.address
    with ScriptedServer() as alive:
        alive.answer(within_budget)
        result = run([dead, alive.address], lambda client: client.prune_openai(BODY), timeout=30)
    assert result.error is None


def test_a_server_that_comes_back_is_found_again(tmp_path: Path) -> None:
    """C5: after its server was gone, and calls failed open, the same client reaches the next one there."""
    address = f"unix:{tmp_path / 'pinch.sock'}"
    with PinchClient(address, timeout=30) as client:
        with ScriptedServer(address=address) as server:
            server.answer(within_budget)
            assert client.prune_openai(BODY).error is None
        assert client.prune_openai(BODY).reason == "unavailable"
        with ScriptedServer(address=address) as server:
            server.answer(within_budget)
            while client.prune_openai(BODY).error is not None:
                assert server.calls == []


async def test_a_server_that_comes_back_is_found_again_by_asyncio(tmp_path: Path) -> None:
    """C5: the asyncio client does the same."""
    address = f"unix:{tmp_path / 'pinch.sock'}"
    async with AsyncPinchClient(address, timeout=30) as client:
        with ScriptedServer(address=address) as server:
            server.answer(within_budget)
            assert (await client.prune_openai(BODY)).error is None
        assert (await client.prune_openai(BODY)).reason == "unavailable"
        with ScriptedServer(address=address) as server:
            server.answer(within_budget)
            while (await client.prune_openai(BODY)).error is not None:
                assert server.calls == []


def test_a_unix_socket_is_an_address(tmp_path: Path, run: Run) -> None:
    """C7: a server on a unix socket is reached by its path, which may have blanks."""
    with ScriptedServer(address=f"unix:{tmp_path / 'a socket.sock'}") as server:
        server.answer(within_budget)
        result = run(server.address, lambda client: client.prune_openai(BODY))
    assert result.error is None


def test_an_ipv6_address(run: Run) -> None:
    """C5: a literal IPv6 address in brackets is reached."""
    with ScriptedServer(address="[::1]:0") as server:
        server.answer(within_budget)
        result = run(server.address, lambda client: client.prune_openai(BODY), timeout=30)
    assert result.error is None


def test_tls(identity: Identity, run: Run) -> None:
    """C7: a server with a certificate that the client trusts is reached."""
    credentials = grpc.ssl_server_credentials([(identity.key, identity.certificate)])
    with ScriptedServer(credentials=credentials) as server:
        server.answer(within_budget)
        tls = Tls(root_certificates=identity.certificate)
        result = run(server.address, lambda client: client.prune_openai(BODY), tls=tls, timeout=30)
    assert result.error is None


def test_tls_with_several_addresses_and_a_server_name(identity: Identity, run: Run) -> None:
    """C5, C7: plain IPs are verified by the server name that the caller gives."""
    credentials = grpc.ssl_server_credentials([(identity.key, identity.certificate)])
    with ScriptedServer(credentials=credentials) as one, ScriptedServer(credentials=credentials) as two:
        for server in (one, two):
            server.answer(within_budget)
        tls = Tls(root_certificates=identity.certificate, server_name="pinch.test")
        addresses = [one.address, two.address]
        result = run(addresses, lambda client: client.prune_openai(BODY), tls=tls, timeout=30)
    assert result.error is None


@pytest.mark.parametrize("server_name", [None, "other.test"], ids=["another authority", "another name"])
def test_a_certificate_that_does_not_fit(
    server_name: str | None, identity: Identity, tmp_path: Path, run: Run
) -> None:
    """C7: a server whose certificate is another's is `unavailable`, and no byte reaches it."""
    roots = identity.certificate if server_name else made_identity(tmp_path).certificate
    credentials = grpc.ssl_server_credentials([(identity.key, identity.certificate)])
    with ScriptedServer(credentials=credentials) as server:
        server.answer(within_budget)
        tls = Tls(root_certificates=roots, server_name=server_name)
        result = run(server.address, lambda client: client.prune_openai(BODY), tls=tls, timeout=30)
        assert not server.calls
    assert (result.body is BODY, result.reason) == (True, "unavailable")


@pytest.mark.parametrize(
    "tls", [None, Tls()], ids=["plain text to a TLS server", "a certificate that nobody vouches for"]
)
def test_an_untrusted_server_is_a_failure(tls: Tls | None, identity: Identity, run: Run) -> None:
    """C7: a failed handshake fails open like every other failure; the body does not reach the server."""
    credentials = grpc.ssl_server_credentials([(identity.key, identity.certificate)])
    with ScriptedServer(credentials=credentials) as server:
        server.answer(within_budget)
        result = run(server.address, lambda client: client.prune_openai(BODY), tls=tls)
        assert not server.calls
    assert result.body is BODY
    assert result.error is not None


def test_mutual_tls(identity: Identity, run: Run) -> None:
    """C7: a server that asks for a client certificate serves the client that has one, and no other."""
    credentials = grpc.ssl_server_credentials(
        [(identity.key, identity.certificate)],
        root_certificates=identity.certificate,
        require_client_auth=True,
    )
    known = Tls(
        root_certificates=identity.certificate,
        private_key=identity.key,
        certificate_chain=identity.certificate,
    )
    unknown = Tls(root_certificates=identity.certificate)
    with ScriptedServer(credentials=credentials) as server:
        server.answer(within_budget)
        served = run(server.address, lambda client: client.prune_openai(BODY), tls=known, timeout=30)
        refused = run(server.address, lambda client: client.prune_openai(BODY), tls=unknown)
    assert served.error is None
    assert refused.error is not None
