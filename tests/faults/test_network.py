"""The proxies pass what is sent, or break a link as they are told."""

import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from storage.embedded.replica_set import HOST
from tests.faults.network import Fault, Network, find_origins
from tests.waiting import TIMEOUT_SECONDS


@pytest.fixture
def echo_port() -> Iterator[int]:
    """The port of a server that sends back what it gets."""

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while data := connection.recv(1 << 16):
                connection.sendall(data)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    with closing(socket.create_server((HOST, 0))) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def network(echo_port: int) -> Iterator[Network]:
    with Network([echo_port]).run() as network:
        yield network


@pytest.fixture
def connection(network: Network) -> Iterator[socket.socket]:
    with connect(network) as connection:
        yield connection


def connect(network: Network) -> socket.socket:
    return socket.create_connection((HOST, network.proxy_ports[0]), TIMEOUT_SECONDS)


def test_what_falls_into_a_hole_arrives_once_it_is_closed(
    network: Network, connection: socket.socket
) -> None:
    network.set_fault(Fault.HOLE)
    connection.sendall(b"one")
    with connect(network) as later:
        later.sendall(b"two")
        readable, _, _ = select.select([connection, later], [], [], 0.05)
        assert readable == []
        network.heal()
        assert (connection.recv(10), later.recv(10)) == (b"one", b"two")


def test_a_connection_is_reset_when_something_is_sent(
    network: Network, connection: socket.socket
) -> None:
    network.set_fault(Fault.RESET)
    connection.sendall(b"one")
    with pytest.raises(ConnectionResetError):
        connection.recv(10)


def test_connections_are_refused(network: Network, connection: socket.socket) -> None:
    connection.sendall(b"one")
    assert connection.recv(10) == b"one"
    network.set_fault(Fault.REFUSE)
    with pytest.raises(ConnectionResetError):
        connection.recv(10)
    with pytest.raises(ConnectionResetError), connect(network) as later:
        later.recv(10)
    network.heal()
    with connect(network) as healed:
        healed.sendall(b"two")
        assert healed.recv(10) == b"two"


def test_the_process_at_the_other_end_is_known_by_its_port(connection: socket.socket) -> None:
    (_, port), (_, proxy_port) = connection.getsockname(), connection.getpeername()
    links = [(port, proxy_port), (1, proxy_port)]
    assert find_origins(links, [1, os.getpid()]) == {links[0]: 1}
    assert find_origins(links, []) == {}
