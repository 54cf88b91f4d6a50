"""The proxies pass what is sent, or break a link as they are told."""

import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from storage.embedded.replica_set import HOST
from tests.faults.network import Fault, Network, find_origins, wait_until
from tests.storage.mongo.replica_set_of_three import find_free_ports, run_replica_set

TIMEOUT_SECONDS = 60


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


@pytest.mark.parametrize(("there", "back"), [(0.2, 0.0), (0.0, 0.2)])
def test_messages_can_be_delayed(
    network: Network, connection: socket.socket, there: float, back: float
) -> None:
    network.set_fault(Fault.NONE, delay_there=there, delay_back=back)
    began = time.monotonic()
    connection.sendall(b"one")
    assert connection.recv(10) == b"one"
    assert time.monotonic() - began > 0.19


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


def test_a_server_that_is_gone_refuses() -> None:
    with Network([1]).run() as gone, pytest.raises(ConnectionResetError), connect(gone) as late:
        late.recv(10)


def test_the_process_at_the_other_end_is_known_by_its_port(connection: socket.socket) -> None:
    (_, port), (_, proxy_port) = connection.getsockname(), connection.getpeername()
    links = [(port, proxy_port), (1, proxy_port)]
    assert find_origins(links, [1, os.getpid()]) == {links[0]: 1}
    assert find_origins(links, []) == {}


@pytest.mark.slow
@pytest.mark.xdist_group("faults")
def test_a_primary_that_is_cut_off_from_the_others_is_replaced(tmp_path: Path) -> None:
    ports = find_free_ports(3)
    with (
        Network(ports).run() as network,
        run_replica_set(
            tmp_path,
            election_timeout_ms=4000,
            ports=ports,
            proxy_ports=network.proxy_ports,
            on_started=partial(network.identify, command_pid_file=tmp_path / "command.pid"),
        ) as replica_set,
    ):
        first = replica_set.wait_for_primary()
        number = replica_set.members.index(first)
        other = (number + 1) % 3
        wait_until(lambda: network.count_connections(other, number) > 0, "they connect")
        with network.isolated(number):
            replica_set.wait_for_primary(first)
            wait_until(lambda: not first.is_writable(), "the old primary steps down")
        replica_set.wait_until_whole()
