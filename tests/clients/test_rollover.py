"""An oplog that rolls over under followers: each is told, copies again, and has missed nothing."""

import asyncio
import json
import os
import signal
import sqlite3
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from websockets.sync.client import connect

from bench.load.machine import list_process_tree
from storage.embedded import mongod
from tests.clients.environment import CLIENTS
from tests.fixtures import SEEN, World, create_world
from tests.gateway.floorgate_process import run_serve_command, storage_options
from tests.gateway.subscriptions.service import PROTOCOL
from tests.storage.mongo.replica_set_of_three import run_primary
from tests.waiting import TIMEOUT_SECONDS, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("generated")]

EXPIRED = '"code":"CHANGES_EXPIRED"'
SUBSCRIPTION = "subscription($after: String) { changes(after: $after) { cursor } }"
FOLLOWING = """
import sys
from floorgate_client import ChangesExpiredError, Floorgate
with Floorgate(sys.argv[1], sys.argv[2], flags=["changes"]) as client:
    cursor = client.changes.list().cursor
    print("follows", flush=True)
    try:
        for batch in client.changes.follow(after=cursor):
            print([each.record_id for each in batch.data], flush=True)
    except ChangesExpiredError:
        print("expired", flush=True)
"""
"""A program that follows changes until they are expired."""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A catalog on a MongoDB of which the oplog has room for 1 MB."""
    build_command = mongod.build_command

    def build_small(*given: Any) -> list[str]:
        other = {"--oplogSize=990": "--oplogSize=1"}
        return [other.get(each, each) for each in build_command(*given)]

    monkeypatch.setattr(mongod, "build_command", build_small)
    # An oplog is cut off at checkpoints, which there are each second.
    with run_primary(tmp_path / "mongo", "--syncdelay", "1") as member:
        bundle = tmp_path / "bundle.json"
        yield asyncio.run(create_world(member.connect_url(), "world", bundle))


def roll_over(mongo: MongoClient[dict[str, Any]]) -> None:
    """Write until the oplog no longer has what it begins with."""

    def read_first() -> Any:
        return mongo["local"]["oplog.rs"].find_one(sort=[("$natural", 1)])

    latest = mongo["local"]["oplog.rs"].find_one(sort=[("$natural", -1)])
    assert latest is not None

    def is_over() -> bool:
        mongo["other"]["things"].insert_many([{"text": "x" * 100_000}])
        return bool(read_first()["ts"] > latest["ts"])

    wait_until(is_over, "the oplog has rolled over")


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Suspend processes in the block."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_who_followed_is_told_and_who_copies_again_has_everything(
    world: World, tmp_path: Path
) -> None:
    python = CLIENTS / "python"
    storage = storage_options(world.mongo_url, world.database, tmp_path)
    key = world.keys.full
    with (
        run_serve_command(tmp_path / "data", *storage, "--rate-limit", "0") as server,
        MongoClient[dict[str, Any]](world.mongo_url) as mongo,
        server.client(key) as client,
    ):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(python / "src"), str(python / "examples")]),
            "FLOORGATE_KEY": key,
            "SSL_CERT_FILE": str(server.certificate),
        }
        client.headers["Experimental-Flags"] = "changes"
        copy = tmp_path / "copy.sqlite"
        sync = [sys.executable, "-m", "sync_directory", server.address, SEEN, str(copy)]

        def rename(unit: str, name: str) -> None:
            mongo[world.database]["units"].update_one({"_id": unit}, {"$set": {"name": name}})

        def read_names() -> dict[str, str]:
            found = client.get("/v1/units", params={"asset": SEEN}).raise_for_status().json()
            return {each["id"]: each["name"] for each in found["data"]}

        def read_copy() -> dict[str, str]:
            with sqlite3.connect(copy) as database:
                rows = database.execute("SELECT record FROM records WHERE kind = 'units'")
                return {each["id"]: each["name"] for [text] in rows for each in [json.loads(text)]}

        subprocess.run(sync, env=environment, check=True)
        assert read_copy() == read_names()
        cursor = client.get("/v1/changes").json()["cursor"]
        body = {"query": SUBSCRIPTION, "variables": {"after": cursor}}
        accepts = {"Accept": "text/event-stream"}
        with (
            subprocess.Popen(
                [sys.executable, "-c", FOLLOWING, server.address, key],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            ) as follower,
            client.stream("POST", "/graphql", json=body, headers=accepts) as stream,
        ):
            assert follower.stdout is not None
            assert follower.stdout.readline() == "follows\n"
            lines = stream.iter_lines()
            rename("unit-1", "seen")
            assert follower.stdout.readline() == "['unit-1']\n"
            while not next(lines).startswith("data: {"):
                pass
            with stopped(follower.pid, *list_process_tree(server.process.pid)):
                rename("unit-2", "missed")
                roll_over(mongo)
            assert follower.stdout.readline() == "expired\n"
            rest = [line for line in lines if line.startswith("data: {")]
            assert EXPIRED in rest[-1]
        wait_until(lambda: read_names()["unit-2"] == "missed", "no cache has the old name")
        response = client.get("/v1/changes", params={"after": cursor})
        assert (response.status_code, response.json()["code"]) == (410, "CHANGES_EXPIRED")
        with connect(
            f"{server.address.replace('http', 'ws', 1)}/graphql",
            subprotocols=[PROTOCOL],  # type: ignore[list-item]
            additional_headers={"API-Key": key, "Experimental-Flags": "changes"},
            ssl=ssl.create_default_context(cafile=server.certificate),
        ) as socket:
            for message in (
                {"type": "connection_init"},
                {"type": "subscribe", "id": "1", "payload": body},
            ):
                socket.send(json.dumps(message))
            assert "connection_ack" in str(socket.recv(TIMEOUT_SECONDS))
            assert EXPIRED in str(socket.recv(TIMEOUT_SECONDS))
        subprocess.run(sync, env=environment, check=True)
        assert read_copy() == read_names()
        assert read_copy()["unit-2"] == "missed"
