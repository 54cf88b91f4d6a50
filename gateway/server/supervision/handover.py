"""SIGHUP: the supervisor replaces its program by a new one in place, with the same process id.

Sockets, shared memory and workers pass from one program to the next as open descriptors, whose
numbers are in an environment variable. Both programs may be of adjacent releases. First another
process checks whether the new program would start. See docs/decisions/server/restarts.md.
"""

import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from types import FrameType

import msgspec

from gateway.errors import StartError

_VARIABLE = "FLOORGATE_HANDOVER"
_HELD_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_held: list[int] = []


class WorkerState(msgspec.Struct):
    """A running worker. Descriptors are those of the process that replaces its program."""

    pid: int
    channel: int
    slot: int


class Handover(msgspec.Struct):
    """What a program leaves to the next one of the same process."""

    fixed_options: dict[str, str]
    """Options that the new program must have too."""
    listeners: list[int]
    workers: list[WorkerState]
    stop_seconds: int
    """How long these workers may take to stop."""
    slots: int
    """Of the write counter."""
    write_counter: int
    arrivals: int
    memory_bytes: tuple[int, int]
    """The sizes of the write counter and of the arrival tables."""
    signals: list[int] = []
    """Those that the previous program has received and not handled."""
    is_check: bool = False
    """Whether to check only if this program could take over."""

    @property
    def descriptors(self) -> list[int]:
        """All that stay open from one program to the next."""
        channels = [worker.channel for worker in self.workers]
        return [*self.listeners, *channels, self.write_counter, self.arrivals]

    def check_options(self, fixed_options: Mapping[str, str], workers: int) -> None:
        """Raise StartError if a program with these options cannot take over."""
        for option, value in fixed_options.items():
            before = self.fixed_options.get(option, value)
            if value != before:
                raise StartError(
                    f"{option} cannot change from {before} to {value} while the service runs:"
                    " restart it"
                )
        if workers > (room := self.slots - len(self.workers)):
            raise StartError(
                f"--workers can be {room} at most while the service runs: restart it for more"
            )

    def check_memory(self, memory_bytes: tuple[int, int]) -> None:
        """Raise StartError unless this program shares as much memory as the previous one."""
        if memory_bytes != self.memory_bytes:
            raise StartError(_OTHER_RELEASE)


_OTHER_RELEASE = "This release cannot take over from the one that runs: restart the service"


@functools.cache
def receive() -> Handover | None:
    """Return what the previous program of this process has left, None if there was none.

    From then on, signals are held for `take_held_signals`: all of them in a program that takes
    over, and SIGHUP in any, since it would end the process. Raises StartError.
    """
    encoded = os.environ.pop(_VARIABLE, None)
    if encoded is None:
        signal.signal(signal.SIGHUP, _hold_signal)
        return None
    try:
        handover = msgspec.json.decode(encoded, type=Handover)
    except msgspec.MsgspecError as error:
        raise StartError(_OTHER_RELEASE) from error
    if not handover.is_check:
        for descriptor in handover.descriptors:
            os.set_inheritable(descriptor, False)
        for number in _HELD_SIGNALS:
            signal.signal(number, _hold_signal)
        _held.extend(handover.signals)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_SIGNALS)
    return handover


def _hold_signal(number: int, _: FrameType | None) -> None:
    _held.append(number)


def take_held_signals() -> bytes:
    """Return the signals that have arrived before the supervisor handled them itself."""
    held = bytes(_held)
    _held.clear()
    return held


def replace_program(handover: Handover, read_signals: Callable[[], bytes]) -> None:
    """Replace the program of this process. Returns only if that fails, by raising OSError.

    Signals wait until the new program handles them: before, they would end the process.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_SIGNALS)
    for descriptor in handover.descriptors:
        os.set_inheritable(descriptor, True)
    handover.signals = [number for number in read_signals() if number in _HELD_SIGNALS]
    environment = {**os.environ, _VARIABLE: msgspec.json.encode(handover).decode()}
    try:
        os.execve(sys.executable, _command(), environment)  # noqa: S606, the same program again
    finally:
        for descriptor in handover.descriptors:
            os.set_inheritable(descriptor, False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_SIGNALS)


def _command() -> list[str]:
    return [sys.executable, *sys.orig_argv[1:]]


_CHECK_SECONDS = 60.0


class ProgramCheck:
    """A process that checks whether the new program could take over."""

    def __init__(self, handover: Handover) -> None:
        self.ends_at = time.monotonic() + _CHECK_SECONDS
        to_check = msgspec.structs.replace(handover, is_check=True)
        with tempfile.TemporaryFile() as errors:
            self._errors = os.dup(errors.fileno())
            self._process = subprocess.Popen(
                _command(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, _VARIABLE: msgspec.json.encode(to_check).decode()},
            )

    @property
    def has_finished(self) -> bool:
        """Whether the result is known, or has taken too long."""
        return self._process.poll() is not None or time.monotonic() >= self.ends_at

    def finish(self) -> str | None:
        """End the check, and return what is wrong with the new program; None if nothing is."""
        took_too_long = self._process.poll() is None
        self._process.kill()
        status = self._process.wait()
        with os.fdopen(self._errors, "rb") as errors:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
        if status == 0:
            return None
        if took_too_long:
            return f"The new program was not checked within {_CHECK_SECONDS:.0f} seconds"
        reason = lines[-1].removeprefix("Error: ") if lines else ""
        return reason or f"The new program ended with status {status}"
