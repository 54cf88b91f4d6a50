"""What Floorgate answers to every request, kept for peers that have it ready."""

from pathlib import Path

import msgspec


class RecordedAnswer(msgspec.Struct, frozen=True):
    """A request and the answer to it."""

    path: str
    body: bytes
    """Of the request."""
    content_type: str
    etag: str
    content: bytes


def write_recorded_answers(path: Path, answers: list[RecordedAnswer]) -> None:
    """Keeps them in a file."""
    path.write_bytes(msgspec.msgpack.encode(answers))


def read_recorded_answers(path: str) -> list[RecordedAnswer]:
    """Those in a file."""
    return msgspec.msgpack.decode(Path(path).read_bytes(), type=list[RecordedAnswer])
