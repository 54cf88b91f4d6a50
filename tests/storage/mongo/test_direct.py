"""One mongod is reached whatever the state of its replica set, and a silent one is given up."""

import socket
from collections.abc import Iterator

import pytest

from storage.embedded.replica_set import HOST
from storage.mongo.direct import OperationFailure, PyMongoError, connect_directly
from tests.storage.mongo.replica_set_of_three import PASSWORD, Member

pytestmark = pytest.mark.slow


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that accepts connections and never answers."""
    with socket.create_server((HOST, 0)) as listener:
        yield listener


def test_a_member_without_configuration_is_commanded(uninitiated: Member) -> None:
    with connect_directly(HOST, uninitiated.port, PASSWORD) as client:
        assert not client.admin.command("hello")["isWritablePrimary"]
        with pytest.raises(OperationFailure, match="no replset config"):
            client.admin.command("replSetGetConfig")


def test_a_server_that_never_answers_is_given_up_within_a_second(listener: socket.socket) -> None:
    with (
        connect_directly(HOST, listener.getsockname()[1], PASSWORD) as client,
        pytest.raises(PyMongoError, match=r"Timeout: 0\.5s"),
    ):
        client.admin.command("ping")


def test_a_port_where_nothing_listens_is_an_error(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    with connect_directly(HOST, port, PASSWORD) as client, pytest.raises(PyMongoError):
        client.admin.command("ping")
