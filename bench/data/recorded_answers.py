"""Floorgate's answers to every request, recorded in a file for peers that replay them."""

from pathlib import Path

import msgspec


class RecordedAnswer(msgspec.Struct, frozen=True):
    """A request and the answer to it."""

    path: str
    body: bytes
    """Body of the request."""
    content_type: str
    etag: str
    content: bytes


def write_recorded_answers(path: Path, answers: list[RecordedAnswer]) -> None:
    """Write answers to a file."""
    path.write_bytes(msgspec.msgpack.encode(answers))


def read_recorded_answers(path: str) -> list[RecordedAnswer]:
    """Return the answers in a file."""
    return msgspec.msgpack.decode(Path(path).read_bytes(), type=list[RecordedAnswer])
