"""Long work in a process of its own that tells how far it is."""

import asyncio
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")

ProgressCallback = Callable[[float, str], None]
"""Told the share done, from 0 to 1, and what comes next."""
STOP_TIMEOUT_SECONDS = 5.0


class WorkerProcessDiedError(Exception):
    """The process ended without an answer: it was killed, perhaps for want of memory."""


async def run_with_progress(
    work: Callable[..., T], progress: ProgressCallback, *arguments: Any
) -> T:
    """What `work(progress, *arguments)` returns or raises, from a process that is ended with it.

    Cancelling ends the process. Raises WorkerDied.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_run_worker, args=(theirs, work, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        while True:
            kind, *content = await _receive_message(ours)
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
        ours.close()


async def _receive_message(connection: Connection) -> Any:
    # Polled, so that no thread is left reading when the work is cancelled.
    while not connection.poll():
        await asyncio.sleep(0.02)
    try:
        return await asyncio.to_thread(connection.recv)
    except EOFError as error:
        raise WorkerProcessDiedError("the process that worked on it was killed") from error


def _run_worker(
    connection: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    def progress(share: float, step: str) -> None:
        connection.send(("progress", share, step))

    try:
        connection.send(("done", work(progress, *arguments)))
    except Exception as error:
        connection.send(("failed", error))
