"""A replica set of three, its network, two gateways and their clients: what faults are tried on."""

import asyncio
import itertools
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.database import Database
from pymongo.errors import PyMongoError

from storage.administration.import_lease import LEASE_COLLECTION
from storage.embedded.replica_set import HOST
from tests.faults import load
from tests.faults.catalog import (
    BLOCK_UNITS,
    BLOCKS_PER_GATEWAY,
    GATEWAYS,
    MANY,
    SINGLE_UNITS,
    build_catalog,
    find_home,
    read_stored,
)
from tests.faults.checking.requests import Outage
from tests.faults.checking.verdict import Round
from tests.faults.gateways import GatewayProcess, running
from tests.faults.load import Client, Load, Recorder, Step
from tests.faults.network import Network
from tests.fixtures import World, create_world
from tests.gateway.floorgate_process import CHECKOUT, COMMAND, environment, storage_options
from tests.storage.mongo.replica_set_of_three import ReplicaSet, find_free_ports, run_replica_set
from tests.waiting import wait_until

ELECTION_TIMEOUT_MS = 2_000
SETTLE_SECONDS = 1.0
FINAL_READS = 6
"""On new connections, so that each worker answers some."""
DATABASE = "floorgate"
DATABASE_MS = 60_000
"""For each operation of the harness."""
COMMAND_PID_FILE = "command.pid"
FAILURES = (AssertionError, OSError, PyMongoError, subprocess.SubprocessError)
"""What a scenario may end with when something is not as it should be."""


class Deployment:
    """Where faults are injected. `play` runs clients around one."""

    def __init__(
        self, directory: Path, network: Network, replica_set: ReplicaSet, world: World
    ) -> None:
        self.directory = directory
        self.network = network
        self.replica_set = replica_set
        self.world = world
        self.gateways = [
            GatewayProcess(
                number, port, directory, world.mongo_url, world.database, world.keys.full
            )
            for number, port in enumerate(find_free_ports(GATEWAYS))
        ]
        self.problems: list[str] = []
        self.figures: dict[str, float] = {}
        self._recovered_at: float | None = None
        self._values: defaultdict[str, itertools.count[int]] = defaultdict(
            partial(itertools.count, 1)
        )
        """The number of the next value of each register, never the same in two rounds."""
        self.recorder = Recorder()
        self._command_clients: set[str] = set()
        """The addresses of commands as MongoDB sees them, also of those that have ended."""

    def mark_recovered(self) -> None:
        """Note that the database is whole enough to serve from now on."""
        self._recovered_at = time.monotonic()

    @contextmanager
    def writes_paused(self) -> Iterator[None]:
        """Let clients begin no write in the block; those in flight go on."""
        self.recorder.are_writes_paused = True
        try:
            yield
        finally:
            self.recorder.are_writes_paused = False

    def play(
        self,
        inject: Callable[["Deployment"], None],
        *,
        with_importer: bool = True,
    ) -> Round:
        """Run clients, inject a fault among them, wait until all is well, and stop them."""
        self.recorder = recorder = Recorder()
        self.problems, self.figures = [], {}
        self._recovered_at = None
        for gateway in self.gateways:
            gateway.was_ended = False
        with self.open_database() as database:  # extras that nobody knows to be removed
            database["attribute_assignments"].delete_many({"group_id": MANY})
        initial, _ = self.read_database()
        clients = Load(recorder)
        self._add_clients(clients, with_importer)
        try:
            outage = self._inject_among_clients(inject)
            clients.stop()
            clients.run(self._read_at_last())
        finally:
            clients.close()
        recorder.read_lists()
        self._await_no_import_at_last()
        self._await_whole_replica_set()
        final, audited = self.read_database()
        return Round(
            recorder.operations,
            recorder.extra_pages,
            recorder.requests,
            recorder.counts,
            outage,
            {each.register: find_home(each.register) for each in recorder.operations},
            initial,
            final,
            audited,
            {each.number for each in self.gateways if each.was_ended},
            self.problems,
            self.figures,
        )

    def _inject_among_clients(self, inject: Callable[["Deployment"], None]) -> Outage:
        self._await_service(time.monotonic(), "before the fault")
        began = time.monotonic()
        try:
            inject(self)
            recovered = self._recovered_at or time.monotonic()
        except FAILURES as error:
            self.problems.append(f"{type(error).__name__}: {error}")
            self._mend()
            recovered = time.monotonic()
        self._await_service(recovered, "after the fault")
        time.sleep(SETTLE_SECONDS)
        return Outage(began, recovered, time.monotonic())

    def read_database(self) -> tuple[dict[str, str | None], Counter[str]]:
        """Return the registers, and how many audit records each request has."""
        with self.open_database() as database:
            registers, audited, problems = read_stored(database)
        self.problems += problems
        return registers, audited

    def await_no_import(self) -> None:
        """Wait until no import is unfinished, and note how long it took."""
        started = time.monotonic()
        with self.open_database() as database:
            leases = database[LEASE_COLLECTION]
            unfinished = {"state": {"$in": ["staging", "applying", "removing"]}}
            wait_until(lambda: leases.find_one(unfinished) is None, "imports are finished")
        longest = self.figures.get("import finished", 0.0)
        self.figures["import finished"] = max(longest, time.monotonic() - started)

    def _await_no_import_at_last(self) -> None:
        try:
            self.await_no_import()
        except AssertionError as error:
            self.problems.append(str(error))
            self._mend()

    def _await_whole_replica_set(self) -> None:
        try:
            self.replica_set.wait_until_whole()
        except FAILURES as error:
            self.problems.append(f"the replica set is not whole: {error}")

    def _mend(self) -> None:
        """Bring everything up again, for the next round."""
        self.network.heal()
        for member in self.replica_set.members:
            if member.process.poll() is not None:
                member.restart()
        self.replica_set.wait_until_whole()
        for gateway in self.gateways:  # one that starts finishes what is left of imports
            gateway.kill()
            gateway.start()
            gateway.wait_until_ready()
        self.await_no_import()

    def start_command(self, *arguments: Any) -> subprocess.Popen[str]:
        """Start a command on the database; its output is kept in a pipe, together with errors."""
        command = subprocess.Popen(
            [
                *(*COMMAND, *map(str, arguments)),
                *storage_options(self.world.mongo_url, self.world.database, self.directory),
                *("--data-dir", str(self.directory / "command")),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=CHECKOUT,
            env=environment(),
        )
        (self.directory / COMMAND_PID_FILE).write_text(str(command.pid))
        return command

    @contextmanager
    def watch_transactions(self) -> Iterator[Callable[[], bool]]:
        """Yield what tells whether the command that was started last has an open transaction.

        On one connection to the primary, as a new one each time would be too slow.
        """
        with self.replica_set.wait_for_primary().connect() as primary:
            yield partial(self._has_open_transaction, primary)

    def _has_open_transaction(self, primary: MongoClient[dict[str, Any]]) -> bool:
        ports = self.network.list_ports(self.network.command)
        self._command_clients |= {f"{HOST}:{port}" for port in ports}
        open_ones: list[dict[str, Any]] = [
            {"$currentOp": {"allUsers": True, "idleSessions": True}},
            {"$match": {"transaction": {"$exists": True}}},
        ]
        with primary.admin.aggregate(open_ones) as operations:
            return any(each.get("client") in self._command_clients for each in operations)

    @contextmanager
    def open_database(self) -> Iterator[Database[dict[str, Any]]]:
        """Connect to the database, by the same network as the gateways."""
        with MongoClient[dict[str, Any]](
            self.world.mongo_url, readConcernLevel="majority", timeoutMS=DATABASE_MS
        ) as mongo:
            yield mongo[self.world.database]

    def _client(self, name: str, gateway: int, recorder: Recorder) -> Client:
        process = self.gateways[gateway]
        return Client(name, gateway, process.port, process.key, recorder)

    def _add_clients(self, clients: Load, with_importer: bool) -> None:
        for number in range(GATEWAYS):
            unit = SINGLE_UNITS[number]
            blocks = range(number * BLOCKS_PER_GATEWAY, (number + 1) * BLOCKS_PER_GATEWAY)
            writer = load.RegisterWriter(unit, [unit], self._values[unit])
            steps: dict[str, Step] = {"writer a": writer, "writer b": writer}
            for block in blocks:
                name = f"block {block}"
                steps[f"writer of {name}"] = load.RegisterWriter(
                    name, BLOCK_UNITS[block], self._values[name]
                )
            steps["writer of extras"] = load.ExtrasWriter(
                blocks[0], self._values[f"extra {blocks[0]}"]
            )
            steps |= {f"reader {at}": load.read_one for at in range(3)}
            steps |= {f"uncached reader {at}": load.read_one_uncached for at in range(2)}
            steps["reader of extras"] = load.read_many
            steps["reader of the asset"] = Client.read_asset
            steps["user of keys"] = load.use_keys
            if with_importer and number == find_home("asset"):
                steps["importer"] = load.Importer(self._values["asset"])
            for name, step in steps.items():
                clients.add(self._client(name, number, clients.recorder), step)

    def _await_service(self, after: float, when: str) -> None:
        def is_served() -> bool:
            return all(
                self.recorder.find_success(kind, gateway, after)
                for kind in ("read", "write")
                for gateway in range(GATEWAYS)
            )

        try:
            wait_until(is_served, f"all gateways serve {when}")
        except AssertionError as error:
            self.problems.append(str(error))

    async def _read_at_last(self) -> None:
        for gateway in range(GATEWAYS):
            client = self._client("last reader", gateway, self.recorder)
            for _ in range(FINAL_READS):
                await load.read_one(client)
                await load.read_one_uncached(client)
                await load.read_many(client)
                await client.read_asset()
                client.connection.close()
                await asyncio.sleep(SETTLE_SECONDS / FINAL_READS)


@contextmanager
def run_deployment(
    directory: Path, election_timeout_ms: int = ELECTION_TIMEOUT_MS
) -> Iterator[Deployment]:
    """Start all of it; kill it afterwards."""
    ports = find_free_ports(3)
    with (
        Network(ports).run() as network,
        run_replica_set(
            directory,
            election_timeout_ms=election_timeout_ms,
            ports=ports,
            proxy_ports=network.proxy_ports,
            on_started=partial(network.identify, command_pid_file=directory / COMMAND_PID_FILE),
        ) as replica_set,
    ):
        bundle = directory / "bundle.json"
        catalog = build_catalog()
        world = asyncio.run(create_world(replica_set.url, DATABASE, bundle, catalog))
        deployment = Deployment(directory, network, replica_set, world)
        with running(*deployment.gateways):
            yield deployment
