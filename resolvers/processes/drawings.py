"""Parsing drawings in a process of a pool."""

from collections.abc import Callable
from typing import TypeVar

from parsing.errors import DocumentRejectedError, ParsingError
from resolvers.processes.cpu_limit import MAX_PARSE_CPU_SECONDS
from resolvers.processes.process_pool import ProcessPool
from resolvers.request.errors import MalformedDocumentError, RefusedDocumentError

T = TypeVar("T")


async def run_on_drawing(
    pool: ProcessPool, function: Callable[[bytes], T], svg: bytes, owner: str = ""
) -> T:
    """Return what `function` makes of a drawing in a process of the pool.

    Raises MalformedDocumentError, RefusedDocumentError and ServiceBusyError.
    """
    try:
        return await pool.run(
            function, svg, cpu_seconds=MAX_PARSE_CPU_SECONDS, owner=owner, size_bytes=len(svg)
        )
    except DocumentRejectedError as error:
        raise RefusedDocumentError(str(error)) from error
    except ParsingError as error:
        raise MalformedDocumentError(str(error), line=error.line, column=error.column) from error
