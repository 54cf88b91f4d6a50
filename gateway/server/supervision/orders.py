"""The interface of supervisor and worker processes: orders, signals, reports and exit statuses.

Supervisor and workers may be of adjacent releases while the service is reloaded.
"""

import signal
from typing import NamedTuple

from gateway.server.config import ServerConfig
from storage.mongo.shared_memory import CounterSlot

READY_MESSAGE = b"\0"
"""Written by a worker to its channel once it serves. Anything else is its start-up error."""
LONG_TASKS_MESSAGE = b"\1"
"""Written by a retired worker that still imports or processes a map after its drain seconds."""
EXIT_START_FAILED = 3
"""Exit status of a worker process if its application did not start."""
EXIT_FORCED = 128 + signal.SIGINT
"""Exit status after a second SIGINT."""
RETIRE_SIGNAL = signal.SIGHUP
"""Tells a worker that others have taken its place: it drains, and the service goes on."""
GRACE_SECONDS = 5
"""For the application's own shutdown, after draining."""
MAX_LONG_TASK_SECONDS = 7200
"""For imports and processing of maps after a reload. Processing ends in less by itself."""


class WorkerOrders(NamedTuple):
    """The data that the supervisor pickles to a worker's standard input.

    The numbers are file descriptors that the worker inherits. Not sent as command-line arguments,
    which every user of the machine can read: the settings may hold a database password.
    """

    server_config: ServerConfig
    listeners: list[int]
    channel: int
    slot: CounterSlot
    arrivals: int


def max_stop_seconds(server_config: ServerConfig) -> int:
    """Return how long a worker may take to stop. One that takes longer is killed."""
    return server_config.drain_notice_seconds + server_config.drain_seconds + 3 * GRACE_SECONDS
