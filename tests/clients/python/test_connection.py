"""The client's arguments are checked once, when it is made."""

from __future__ import annotations

from typing import Any

import pytest

from pinch import AsyncPinchClient, PinchClient, Tls
from pinch.connection import connection, target_of


@pytest.mark.parametrize(
    ("addresses", "target"),
    [
        ("127.0.0.1:1", "127.0.0.1:1"),
        ("pinch.internal:50051", "pinch.internal:50051"),
        ("dns:///pinch.internal:50051", "dns:///pinch.internal:50051"),
        ("unix:/run/pinch.sock", "unix:/run/pinch.sock"),
        ("127.0.0.1:1,127.0.0.1:2", "ipv4:127.0.0.1:1,127.0.0.1:2"),
        ("127.0.0.1:1, 10.0.0.2:2", "ipv4:127.0.0.1:1,10.0.0.2:2"),
        ("ipv4:127.0.0.1:1,127.0.0.1:2", "ipv4:127.0.0.1:1,127.0.0.1:2"),
        (["127.0.0.1:1", "127.0.0.1:2"], "ipv4:127.0.0.1:1,127.0.0.1:2"),
        (("[::1]:1", "[::1]:2"), "ipv6:[::1]:1,[::1]:2"),
        (["localhost:1"], "localhost:1"),
        ("[::1]:50051", "[::1]:50051"),
        ("unix:/run/two words.sock", "unix:/run/two words.sock"),
    ],
)
def test_addresses_become_one_target(addresses: Any, target: str) -> None:
    """C5: one address is a target of its own, several become one target that lists them."""
    assert target_of(addresses) == target


@pytest.mark.parametrize(
    "addresses",
    [
        "",
        [],
        " ",
        "127.0.0.1:1,",
        ["127.0.0.1:1", ""],
        ["127.0.0.1:1", "[::1]:1"],
        ["one.internal:1", "two.internal:1"],
        ["unix:/a", "unix:/b"],
        ["127.0.0.1", "127.0.0.2"],
        ["127.0.0.1:x", "127.0.0.2:1"],
    ],
)
def test_addresses_that_cannot_share_a_channel_are_refused(addresses: Any) -> None:
    """Addresses that gRPC cannot join into one target are refused at once, not at the first call."""
    with pytest.raises(ValueError, match="address"):
        target_of(addresses)


@pytest.mark.parametrize(
    "address", ["localhost", "127.0.0.1", "[::1]", "http://127.0.0.1:50051", "https://pinch.internal"]
)
def test_an_address_that_is_never_reached_is_refused(address: str) -> None:
    """C5: a URL, and an address without its port, are told at once instead of failing open for ever."""
    with pytest.raises(ValueError, match=r"address .* host:port"):
        target_of(address)


@pytest.mark.parametrize("make", [PinchClient, AsyncPinchClient])
@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"token": ""}, "token"),
        ({"token": "line\nbreak"}, "token"),
        ({"token": "schlüssel"}, "token"),
        ({"metadata": {"Upper": "x"}}, "Upper"),
        ({"metadata": {"": "x"}}, "metadata"),
        ({"metadata": {"name-bin": "x"}}, "name-bin"),
        ({"metadata": {"connection": "close"}}, "connection"),
        ({"metadata": {"name": "line\nbreak"}}, "name"),
        ({"metadata": {"pinch-client": "x"}}, "pinch-client"),
        ({"metadata": {"authorization": "x"}}, "authorization"),
        ({"metadata": {"grpc-timeout": "1S"}}, "grpc-timeout"),
    ],
)
def test_unusable_settings_are_named(make: Any, settings: dict[str, Any], named: str) -> None:
    """A setting that cannot work is a ValueError that names it, from either client."""
    with pytest.raises(ValueError, match=named):
        make("127.0.0.1:1", **settings)


def test_half_an_identity_is_refused() -> None:
    """Mutual TLS needs both the key and the certificate."""
    with pytest.raises(ValueError, match="private_key"):
        Tls(private_key=b"key")
    with pytest.raises(ValueError, match="certificate_chain"):
        Tls(certificate_chain=b"certificate")


def test_secrets_are_not_shown() -> None:
    """Neither token nor private key appears in what a log might print."""
    tls = Tls(private_key=b"PRIVATE", certificate_chain=b"PUBLIC")
    made = connection("127.0.0.1:1", timeout=1, token="s3cret", tls=tls)
    assert "s3cret" not in repr(made)
    assert "PRIVATE" not in repr(made)


def test_a_refused_token_is_not_quoted() -> None:
    """The error about an unusable token does not show it."""
    with pytest.raises(ValueError, match="token") as caught:
        connection("127.0.0.1:1", timeout=1, token="s3cret\n", tls=None)
    assert "s3cret" not in str(caught.value)


def test_no_service_config_timeout() -> None:
    """C2: deadlines are set per call; a timeout in the service config does not work in gRPC's core."""
    options = dict(connection("127.0.0.1:1", timeout=1, token=None, tls=None).options())
    assert "timeout" not in options["grpc.service_config"]
    assert "round_robin" in options["grpc.service_config"]


def test_limits_and_keepalive_are_set() -> None:
    """C4, C5: messages have 64 MiB, keepalive is on, and a server that is gone is looked for soon."""
    options = dict(connection("127.0.0.1:1", timeout=1, token=None, tls=None).options())
    assert options["grpc.max_send_message_length"] == 64 * 2**20
    assert options["grpc.max_receive_message_length"] == 64 * 2**20
    assert options["grpc.keepalive_time_ms"] > 0
    assert options["grpc.initial_reconnect_backoff_ms"] == 100
    assert options["grpc.max_reconnect_backoff_ms"] == 5_000
