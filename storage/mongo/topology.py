"""The replica set behind a client, as the driver sees it: its primary, and its time."""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import pymongo
from bson import Timestamp
from pymongo.errors import PyMongoError
from pymongo.monitoring import (
    ServerHeartbeatFailedEvent,
    ServerHeartbeatListener,
    ServerHeartbeatStartedEvent,
    ServerHeartbeatSucceededEvent,
    TopologyClosedEvent,
    TopologyDescriptionChangedEvent,
    TopologyListener,
    TopologyOpenedEvent,
)
from pymongo.read_preferences import ReadPreference, _ServerMode
from pymongo.topology_description import TopologyDescription

from storage.errors import UnavailableCause, UnavailableError
from storage.mongo.protocols import Client, Session
from storage.mongo.shared_memory import ClusterClock
from storage.records.kinds import Document

MAX_SECONDS_WITHOUT_PRIMARY = 15
"""An election takes some 12 seconds with MongoDB's own settings. Secondaries that are cut off from
a majority would return the same old data for ever."""
_POLL_SECONDS = 0.02
_ATTRIBUTE = "_floorgate_deployment"
Observe: TypeAlias = Callable[[Any], None]
"""Called with each Command that has ended, also in other threads."""


class _LastWrite(NamedTuple):
    term: int
    time: Timestamp
    asked_at: float
    """When the member was asked for it."""


class PrimaryListener(ServerHeartbeatListener, TopologyListener):
    """Advance the clock when there is a new primary, and tell how long there has been none.

    A new primary has every write that a majority acknowledged, but may return older data until it
    knows that a majority has them. Reads after the time of its newest write wait for that.
    """

    def __init__(self, clock: ClusterClock) -> None:
        self._clock = clock
        self.primary: Any = None
        """Address and election of the latest primary; None before the first."""
        self._lock = threading.Lock()  # each member is monitored by a thread of its own
        self.lost_at: float | None = None
        self._last_writes: dict[Any, _LastWrite] = {}
        """The last write that each member had when it was asked, by address."""
        self._asked_at: dict[Any, float] = {}
        """When each member was last asked, by address."""
        self._voters = 0
        self.on_loss: Callable[[], None] | None = None
        """Called in another thread when the primary is lost."""

    def succeeded(self, event: ServerHeartbeatSucceededEvent) -> None:
        """Handle a member's reply, before the driver selects that member on account of it."""
        hello = event.reply
        op_time = hello.document.get("lastWrite", {}).get("opTime")
        if not isinstance(op_time, dict):
            return
        with self._lock:
            asked_at = self._asked_at.get(event.connection_id, 0.0)
            last_write = _LastWrite(op_time["t"], op_time["ts"], asked_at)
            self._note_last_write(hello.document, last_write)
            primary = event.connection_id, hello.election_id
            is_current = not self._is_before_primary(hello.election_id)
            if hello.is_writable and is_current and primary != self.primary:
                self._clock.advance(op_time["ts"])
                self.primary = primary  # last, so that who sees it has the time

    def _is_before_primary(self, election_id: Any) -> bool:
        """Return whether an election was before that of the primary: its winner does not know yet
        that it has been replaced. The driver ignores it too."""
        newest = None if self.primary is None else self.primary[1]
        return newest is not None and (election_id is None or election_id < newest)

    def _note_last_write(self, hello: Mapping[str, Any], last_write: "_LastWrite") -> None:
        hosts = hello.get("hosts", ())
        others = len(hello.get("passives", ())) + len(hello.get("arbiters", ()))
        self._voters = len(hosts) + others
        if hello.get("me") in hosts:  # others may have no vote
            self._last_writes[hello["me"]] = last_write
        for gone in self._last_writes.keys() - set(hosts):
            del self._last_writes[gone]

    def get_safe_time(self) -> Timestamp | None:
        """Return the time up to which reads are safe without a primary, or None.

        A majority has all writes up to it, in the newest term: no later primary can lack them,
        although no member knows yet that they are committed. And no later write can be on a
        majority, even if all members have it that say nothing: the lost primary may have
        acknowledged a write together with a member that is ahead, so there is no such time until
        others have caught up. Only what members say since the loss counts: until then the primary
        had acknowledged writes, and other gateways may have shown them.
        """
        lost_at = self.lost_at
        if lost_at is None:
            return None
        with self._lock:
            said = [each for each in self._last_writes.values() if each.asked_at > lost_at]
            silent = self._voters - len(said)
            needed = self._voters // 2 + 1
        newest_first = sorted(((each.term, each.time) for each in said), reverse=True)
        if len(newest_first) < needed:
            return None
        certain, possible = newest_first[needed - 1], newest_first[needed - silent - 1]
        is_current = certain[0] == newest_first[0][0]
        return certain[1] if certain == possible and is_current else None

    def description_changed(self, event: TopologyDescriptionChangedEvent) -> None:
        if event.new_description.has_writable_server():
            self.lost_at = None
        elif self.lost_at is None and self.primary is not None:
            self.lost_at = time.monotonic()
            if self.on_loss is not None:
                self.on_loss()

    def seconds_without_primary(self) -> float:
        """Return how long the primary has been lost; 0 while there is one, or none was ever met."""
        lost_at = self.lost_at
        return 0.0 if lost_at is None else time.monotonic() - lost_at

    def started(self, event: ServerHeartbeatStartedEvent) -> None:
        self._asked_at[event.connection_id] = time.monotonic()

    def failed(self, event: ServerHeartbeatFailedEvent) -> None:
        """Ignore it: the driver changes the description if that means something."""

    def opened(self, event: TopologyOpenedEvent) -> None:
        """Ignore the beginning."""

    def closed(self, event: TopologyClosedEvent) -> None:
        """Ignore the end."""


@dataclass(slots=True)
class Deployment:
    """The MongoDB that a client is connected to."""

    url: str
    """Clients do not tell theirs."""
    clock: ClusterClock
    listener: PrimaryListener
    observe: Observe = lambda _: None
    read: Callable[[str, Mapping[str, Any]], Awaitable[Document | None]] | None = None
    """Sends a read to a database past the driver, or returns None if the driver has to."""
    count_read_connections: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Returns how many connections `read` uses, and how many are idle."""
    retries: Counter[str] = field(default_factory=Counter)
    """Reads and transactions that were run again, by the error before."""
    endings: set[asyncio.Task[None]] = field(default_factory=set)
    """The tasks that end sessions in the background."""
    driver_client: Any = None
    """PyMongo's client, which Motor's is in front of."""

    @classmethod
    def at(
        cls, url: str, clock: ClusterClock | None = None, observe: Observe = lambda _: None
    ) -> "Deployment":
        """Return a description for a client of this URL; the client needs its listener."""
        clock = clock or ClusterClock()
        return cls(url, clock, PrimaryListener(clock), observe)

    @property
    def description(self) -> TopologyDescription:
        """Return the servers as the driver knows them now; events come up to a second later."""
        description: TopologyDescription = self.driver_client.topology_description
        return description

    async def wait_until_readable(self, deadline: float) -> None:
        """Wait for a primary, or until it is known what a majority has without one.

        Raises UnavailableError when `time.monotonic()` has passed the deadline.
        """
        while self.listener.lost_at is not None and self.listener.get_safe_time() is None:
            if time.monotonic() > deadline:
                raise UnavailableError("MongoDB has no primary", self.find_cause())
            await asyncio.sleep(_POLL_SECONDS)

    def has_primary(self) -> bool:
        """Return whether this process knows a primary now."""
        return self.description.has_writable_server()

    def has_majority(self) -> bool:
        """Return whether more than half of the members answer this process."""
        answers = self._list_answers()
        return 2 * sum(answers) > len(answers)

    def find_cause(self) -> UnavailableCause:
        """Return why there is no primary."""
        if not any(self._list_answers()):
            return UnavailableCause.DATABASE_UNREACHABLE
        is_voted = self.has_majority()
        return UnavailableCause.NO_PRIMARY if is_voted else UnavailableCause.NO_MAJORITY

    def _list_answers(self) -> list[bool]:
        """Return for each member whether it answers; of several routers, one will do."""
        if self.description.replica_set_name is None:
            return [self.has_primary()]
        members = self.description.server_descriptions().values()
        return [member.is_server_type_known for member in members]

    def choose_members(self) -> _ServerMode:
        """Return the read preference: a secondary may answer while a known primary is lost.

        Raises UnavailableError if there has been none for too long.
        """
        if self.listener.primary is None:
            return ReadPreference.PRIMARY
        if self.listener.seconds_without_primary() > MAX_SECONDS_WITHOUT_PRIMARY:
            raise UnavailableError("MongoDB has no primary", self.find_cause())
        return ReadPreference.PRIMARY_PREFERRED


def describe(client: Client, deployment: Deployment) -> None:
    """Remember which deployment a client is connected to."""
    deployment.driver_client = vars(client).get("delegate", client)
    setattr(client, _ATTRIBUTE, deployment)


def of(client: Client) -> Deployment:
    """Return the deployment of a client that `driver.connect` has returned."""
    deployment: Deployment = vars(client)[_ATTRIBUTE]
    return deployment


# Ending transactions that are left open: MongoDB would keep their records locked for a minute.
#
# Drivers abort one that fails, in the time that the request has left: none, if a command was late.
# After a commit without an answer they abort nothing, and a process that is killed ends nothing.


APPLICATION = "floorgate"
LOOK_SECONDS = 3.0
"""A transaction is abandoned if it is the same at two looks."""
_PIPELINE = [
    {"$currentOp": {"idleSessions": True}},  # of the own user: that takes no privilege
    {"$match": {"type": "idleSession", "appName": APPLICATION}},
    {"$project": {"lsid.id": 1, "transaction": {"parameters.txnNumber": 1, "timeActiveMicros": 1}}},
]
LIST_IDLE = {"aggregate": 1, "pipeline": _PIPELINE, "cursor": {"batchSize": 1_000}}
_logger = logging.getLogger("floorgate.transactions")


def end_in_background(client: Client, session: Session) -> asyncio.Task[None]:
    """End a session in which something failed, and what MongoDB still does in it.

    A transaction that is committed stays so. `driver.close` waits for it.
    """
    endings = of(client).endings
    ending = asyncio.create_task(_end(client, session), context=Context())  # without the deadline
    endings.add(ending)
    ending.add_done_callback(endings.discard)
    return ending


async def _end(client: Client, session: Session) -> None:
    try:
        with suppress(PyMongoError), pymongo.timeout(LOOK_SECONDS):  # later, looks find it
            await client.admin.command("killSessions", [session.session_id])
    finally:
        await session.end_session()  # then others get its id


async def end_abandoned_transactions(client: Client) -> None:
    """End transactions between two looks at which no command was sent in them, until cancelled.

    If their process is alive after all, and goes on, MongoDB calls the error transient, and
    `driver.run_in_transaction` runs it again. While a command is in progress they are not idle.
    """
    before: list[Any] = []
    while True:
        with suppress(PyMongoError), pymongo.timeout(LOOK_SECONDS):
            reply = await client.admin.command({**LIST_IDLE})
            idle, before = before, reply["cursor"]["firstBatch"]
            if abandoned := [each["lsid"] for each in before if each in idle]:
                await client.admin.command("killSessions", abandoned)
                _logger.warning("%d abandoned transactions were ended", len(abandoned))
        await asyncio.sleep(LOOK_SECONDS)
