"""Run long work in a separate process that reports its progress."""

import asyncio
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from resolvers.processes.worker_process import NICENESS
from routing.processing import ProcessingProgress

T = TypeVar("T")

STOP_TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 0.02


class BackgroundProcessDiedError(Exception):
    """The process ended without a result; it was killed, perhaps for lack of memory."""


async def run_with_progress(
    work: Callable[..., T], progress: ProcessingProgress, *arguments: Any
) -> T:
    """Return or raise what `work(progress, *arguments)` returns or raises in a new process.

    The process ends with this call, also when it is cancelled. `work` must be importable, and its
    arguments, result and errors must pickle. Raises BackgroundProcessDiedError.
    """
    # "spawn": the gateway has threads, and a forked copy of one that holds a lock would deadlock.
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_run_worker, args=(sender, work, arguments), daemon=True)
    process.start()
    sender.close()  # else the receiver would never see the end of a process that died
    try:
        while True:
            kind, *content = await _receive_message(receiver)
            if kind == "progress":
                progress(*content)
            elif kind == "failed":
                raise content[0]
            else:
                result: T = content[0]
                return result
    finally:
        process.terminate()
        await asyncio.to_thread(process.join, STOP_TIMEOUT_SECONDS)
        receiver.close()


async def _receive_message(connection: Connection) -> Any:
    # Polled, so that cancelling leaves no thread that waits in `recv`.
    while not connection.poll():
        await asyncio.sleep(POLL_SECONDS)
    try:
        return await asyncio.to_thread(connection.recv)
    except EOFError as error:
        raise BackgroundProcessDiedError(
            "The process that built the network was killed, perhaps for lack of memory."
        ) from error


def _run_worker(
    connection: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    os.nice(NICENESS)

    def progress(share: float, step: str) -> None:
        connection.send(("progress", share, step))

    try:
        connection.send(("done", work(progress, *arguments)))
    except Exception as error:
        connection.send(("failed", error))
