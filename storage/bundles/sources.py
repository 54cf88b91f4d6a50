"""The drawings that a bundle's maps name: files beside the bundle, or data URLs within it."""

import base64
import binascii
from pathlib import Path

DATA_URL_PREFIX = "data:image/svg+xml;base64,"
MAX_DRAWING_BYTES = 20 << 20


class SourceError(Exception):
    """A source cannot be read; the message says why and what would do."""


def read_source(source: str, directory: Path | None) -> bytes:
    """The drawing that a map names. Raises SourceFault."""
    if source.startswith("data:"):
        return _decode_data_url(source)
    if directory is None:
        raise SourceError("must be a data URL where the bundle is not a file")
    try:
        path = (directory / source).resolve()
        if Path(source).is_absolute() or not path.is_relative_to(directory.resolve()):
            raise SourceError(f'"{source}" leads out of the directory of the bundle')
        if path.exists() and not path.is_file():
            raise SourceError(f'"{source}" is not a file')
        if path.stat().st_size > MAX_DRAWING_BYTES:
            raise SourceError(f'"{source}" is larger than {MAX_DRAWING_BYTES:,} bytes')
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f'"{source}" beside the bundle: {error.strerror}') from error


def to_data_url(content: bytes) -> str:
    """A drawing in the form that travels within a bundle."""
    return DATA_URL_PREFIX + base64.b64encode(content).decode("ascii")


def _decode_data_url(source: str) -> bytes:
    if not source.startswith(DATA_URL_PREFIX):
        raise SourceError(f"a data URL of a drawing begins with {DATA_URL_PREFIX}")
    try:
        content = base64.b64decode(source.removeprefix(DATA_URL_PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SourceError(f"the data URL is damaged: {error}") from error
    if len(content) > MAX_DRAWING_BYTES:
        raise SourceError(f"the drawing is larger than {MAX_DRAWING_BYTES:,} bytes")
    return content
