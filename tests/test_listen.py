"""Addresses: what is one, how it is spelt, and who can reach it."""

import pytest

from pinch_server.listen import Listen, parse_listen


@pytest.mark.parametrize(
    ("text", "listen"),
    [
        ("127.0.0.1:50051", Listen("127.0.0.1", 50_051)),
        ("localhost:0", Listen("localhost", 0)),
        ("pinch-1.svc.cluster.local:65535", Listen("pinch-1.svc.cluster.local", 65_535)),
        ("[::1]:9464", Listen("::1", 9_464)),
        ("unix:/run/pinch.sock", Listen(path="/run/pinch.sock")),
        ("unix:relative.sock", Listen(path="relative.sock")),
    ],
)
def test_an_address_is_read_and_written_back(text: str, listen: Listen) -> None:
    """Each form is read into its parts, and the parts spell the same text."""
    assert parse_listen(text) == listen
    assert str(listen) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        ":50051",
        "50051",
        "localhost",
        "localhost:",
        "localhost:65536",
        "localhost:-1",
        "localhost:+1",
        "localhost:١",
        "localhost:http",
        "::1:50051",
        "[::1]",
        "[127.0.0.1]:1",
        "[localhost]:1",
        "*:1",
        "a b:1",
        "-a:1",
        "http://localhost:1",
        "localhost:1\n",
        "unix:",
        "unix:/run/\0",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """What is not an address is a ValueError that says what to give."""
    with pytest.raises(ValueError, match=r"give|takes|needs"):
        parse_listen(text)


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("LOCALHOST:1", True),
        ("[::1]:1", True),
        ("unix:/x", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("192.168.0.1:1", False),
        ("localhost.example:1", False),
    ],
)
def test_only_loopback_and_sockets_are_local(text: str, local: bool) -> None:
    """An address is local when no other machine can reach it; a name other than localhost never is."""
    assert parse_listen(text).is_local is local
