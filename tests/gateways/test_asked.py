"""What a gateway's headers ask for, read."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.gateways.headers import NAMES, by_name, read_headers
from tests.gateways.ports import Port, opened
from tests.rpc.conversations import body


@pytest.fixture(scope="module")
def port() -> Iterator[Port]:
    with opened() as port:
        yield port


def test_of_a_flood_of_headers_some_are_told() -> None:
    """However many headers are wrong, no more are told than somebody reads."""
    flood = {f"x-pinch-nothing-{number}": "" for number in range(1_000)}
    assert len(read_headers(flood).violations) == 20


def test_a_header_that_comes_twice_is_a_list(port: Port) -> None:
    """Of repeated fields none is lost: lists are joined, and what is none says nothing that can be done."""
    read = read_headers(by_name([("X-Pinch-Protected-Tools", "a*"), ("x-pinch-protected-tools", "b")]))
    assert read.limits["protected_tools"] == ("a*", "b")
    host, _, number = port.address.rpartition(":")
    text = body()
    with socket.create_connection((host, int(number)), 30) as connection:
        connection.sendall(
            b"POST /compact HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"X-Pinch-Bypass: true\r\nX-Pinch-Bypass: false\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(text), text)
        )
        with connection.makefile("rb") as answer:
            told = answer.read()
    assert told.startswith(b"HTTP/1.1 204")
    assert b"x-pinch-unchanged-reason: invalid\r\n" in told


def test_every_header_is_read() -> None:
    """Each header that is documented as understood is understood, and no other."""
    texts = {
        "stability": "replay",
        "trim-style": "keyed",
        "format": "anthropic",
        "route": "routed",
        "cache-state": "none",
    }
    for name in NAMES:
        key = name.removeprefix("x-pinch-")
        for text in (texts.get(key, "1"),):
            assert read_headers({name: text}).violations == (), name
    (violation,) = read_headers({"x-pinch-nonsense": "1"}).violations
    assert violation.field == "x-pinch-nonsense"


def test_what_is_known_of_the_cache_is_read() -> None:
    """The state, the time to live and the calls to come reach the decision as a client's words do."""
    headers = {"x-pinch-cache-state": "Cold", "x-pinch-cache-ttl-seconds": "300"}
    asked = read_headers({**headers, "x-pinch-expected-further-calls": "0"})
    assert asked.violations == ()
    assert asked.context.cache == CacheContext(CacheState.COLD, ttl_seconds=300, further_calls=0)
    assert read_headers({}).context.cache == CacheContext()


@pytest.mark.parametrize(
    ("name", "text", "mend"),
    [
        ("cache-state", "lukewarm", "give one of warm, cold, none"),
        ("cache-ttl-seconds", "-1", "give a whole number from 0 on"),
        ("expected-further-calls", "many", "give a whole number"),
        ("expected-further-calls", "99999999999", "give a whole number from 0 on"),
    ],
)
def test_a_cache_that_cannot_be_is_refused(name: str, text: str, mend: str) -> None:
    """A state that is none and a count below zero are told with what to give."""
    (violation,) = read_headers({f"x-pinch-{name}": text}).violations
    assert violation.field == f"x-pinch-{name}"
    assert mend in violation.problem
