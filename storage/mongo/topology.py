"""What the driver learns of the replica set behind a client: its primary, and its time."""

import threading
import time
from dataclasses import dataclass
from typing import Any

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

from storage.errors import UnavailableError
from storage.mongo.cluster_clock import ClusterClock
from storage.mongo.protocols import Client

MAX_SECONDS_WITHOUT_PRIMARY = 15.0
"""An election takes some 12 seconds with MongoDB's own settings. Secondaries that are cut off from
a majority would return the same old data for ever."""
_ATTRIBUTE = "_floorgate_deployment"


class PrimaryListener(ServerHeartbeatListener, TopologyListener):
    """Advance the clock when there is a new primary, and tell how long there has been none.

    A new primary has every write that a majority acknowledged, but may return older data until it
    knows that a majority has them. Reads after the time of its newest write wait for that.
    """

    def __init__(self, clock: ClusterClock) -> None:
        self._clock = clock
        self._primary: Any = None
        """Address and election of the latest primary."""
        self._lock = threading.Lock()  # each member is monitored by a thread of its own
        self.lost_at: float | None = None

    @property
    def has_known_primary(self) -> bool:
        """Return whether there has been a primary since the client was created."""
        return self._primary is not None

    def succeeded(self, event: ServerHeartbeatSucceededEvent) -> None:
        """Handle a member's reply, before the driver selects that member on account of it."""
        hello = event.reply
        if not hello.is_writable:
            return
        primary = event.connection_id, hello.election_id
        with self._lock:
            if primary != self._primary:
                self._primary = primary
                last_write = hello.document.get("lastWrite", {})
                self._clock.advance(last_write.get("opTime", {}).get("ts"))

    def description_changed(self, event: TopologyDescriptionChangedEvent) -> None:
        """Remember when the primary was lost."""
        if event.new_description.has_writable_server():
            self.lost_at = None
        elif self.lost_at is None and self.has_known_primary:
            self.lost_at = time.monotonic()

    def started(self, event: ServerHeartbeatStartedEvent) -> None:
        """Ignore that a member is asked."""

    def failed(self, event: ServerHeartbeatFailedEvent) -> None:
        """Ignore it: the driver changes the description if that means something."""

    def opened(self, event: TopologyOpenedEvent) -> None:
        """Ignore the beginning."""

    def closed(self, event: TopologyClosedEvent) -> None:
        """Ignore the end."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The MongoDB that a client is connected to."""

    url: str
    """Clients do not tell theirs."""
    clock: ClusterClock
    listener: PrimaryListener

    @classmethod
    def at(cls, url: str, clock: ClusterClock | None = None) -> "Deployment":
        """Return a description for a client of this URL; the client needs its listener."""
        clock = clock or ClusterClock()
        return cls(url, clock, PrimaryListener(clock))

    def choose_members(self) -> _ServerMode:
        """Return the read preference: a secondary may answer while a known primary is lost.

        Raises UnavailableError if there has been none for too long.
        """
        if not self.listener.has_known_primary:
            return ReadPreference.PRIMARY
        lost_at = self.listener.lost_at
        if lost_at is not None and time.monotonic() - lost_at > MAX_SECONDS_WITHOUT_PRIMARY:
            raise UnavailableError("MongoDB has no primary")
        return ReadPreference.PRIMARY_PREFERRED


def describe(client: Client, deployment: Deployment) -> None:
    """Remember which deployment a client is connected to."""
    setattr(client, _ATTRIBUTE, deployment)


def of(client: Client) -> Deployment:
    """Return the deployment of a client that `driver.connect` has returned."""
    deployment: Deployment = vars(client)[_ATTRIBUTE]
    return deployment
