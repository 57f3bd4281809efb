"""Ports that are kept for the processes that listen on them."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pinch_server.listen import Listen
from pinch_server.workers.ports import ReservedPort

HOST = "127.0.0.1"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def sharing(port: int) -> socket.socket:
    return socket.create_server((HOST, port), reuse_port=True)


def test_a_free_port_is_one_for_all(stack: ExitStack) -> None:
    """The port that is taken for 0 can be listened on by several sockets that share it."""
    port = ReservedPort(Listen(HOST, 0))
    stack.callback(port.close)
    assert port.listen.port > 0
    first = stack.enter_context(sharing(port.listen.port))
    second = stack.enter_context(sharing(port.listen.port))
    assert first.getsockname() == second.getsockname() == (HOST, port.listen.port)


def test_a_port_without_a_listener_refuses_connections(stack: ExitStack) -> None:
    """While no worker listens, a caller is refused at once instead of waiting in a queue nobody serves."""
    port = ReservedPort(Listen(HOST, 0))
    stack.callback(port.close)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port.listen.port), timeout=5)


def test_a_port_in_use_is_refused(stack: ExitStack) -> None:
    """Neither a listener, nor one that would share, nor another reservation is joined."""
    port = ReservedPort(Listen(HOST, 0))
    stack.callback(port.close)
    plain = stack.enter_context(socket.create_server((HOST, 0)))
    shares = stack.enter_context(sharing(0))
    for taken in (port.listen.port, plain.getsockname()[1], shares.getsockname()[1]):
        with pytest.raises(OSError, match="in use"):
            ReservedPort(Listen(HOST, taken))


def test_the_connections_of_an_earlier_service_are_no_obstacle(stack: ExitStack) -> None:
    """A port on which only connections linger that were closed before can be reserved again."""
    with socket.create_server((HOST, 0)) as before:
        number = before.getsockname()[1]
        caller = stack.enter_context(socket.create_connection((HOST, number)))
        answer, _ = before.accept()
        answer.close()
        caller.recv(1)
    port = ReservedPort(Listen(HOST, number))
    stack.callback(port.close)
    assert port.listen.port == number


def test_a_name_is_reserved_on_each_of_its_addresses(stack: ExitStack) -> None:
    """Every address that a name stands for has the same port, and it can be had again afterwards."""
    port = ReservedPort(Listen("localhost", 0))
    again = port.listen
    port.close()
    second = ReservedPort(again)
    stack.callback(second.close)
    with pytest.raises(OSError, match="in use"):
        socket.create_server((HOST, again.port))


def test_a_host_elsewhere_is_refused() -> None:
    """An address of another machine cannot be reserved."""
    with pytest.raises(OSError, match="assign requested address"):
        ReservedPort(Listen("192.0.2.1", 0))
