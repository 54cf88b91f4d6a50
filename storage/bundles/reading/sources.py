"""Drawings of the maps in a bundle: files next to the bundle, or data URLs in it."""

import base64
import binascii
from pathlib import Path

DATA_URL_PREFIX = "data:image/svg+xml;base64,"
MAX_DRAWING_BYTES = 20 << 20


class SourceError(Exception):
    """The `source` of a map cannot be read or parsed."""


def read_source(source: str, directory: Path | None) -> bytes:
    """Return the content of a map's `source`. Raises SourceError."""
    if source.startswith("data:"):
        return _decode_data_url(source)
    if directory is None:
        raise SourceError("must be a data URL, because the bundle is not a file")
    try:
        path = (directory / source).resolve()
        if Path(source).is_absolute() or not path.is_relative_to(directory.resolve()):
            raise SourceError(f'"{source}" is outside the directory of the bundle')
        if path.exists() and not path.is_file():
            raise SourceError(f'"{source}" is not a file')
        if path.stat().st_size > MAX_DRAWING_BYTES:
            raise SourceError(f'"{source}" is larger than {MAX_DRAWING_BYTES:,} bytes')
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f'"{source}" next to the bundle: {error.strerror}') from error


def to_data_url(content: bytes) -> str:
    """Return a drawing as a data URL.

    >>> to_data_url(b"<svg/>")
    'data:image/svg+xml;base64,PHN2Zy8+'
    """
    return DATA_URL_PREFIX + base64.b64encode(content).decode("ascii")


def _decode_data_url(source: str) -> bytes:
    if not source.startswith(DATA_URL_PREFIX):
        raise SourceError(f"a data URL of a drawing must begin with {DATA_URL_PREFIX}")
    try:
        content = base64.b64decode(source.removeprefix(DATA_URL_PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SourceError(f"the data URL is damaged: {error}") from error
    if len(content) > MAX_DRAWING_BYTES:
        raise SourceError(f"the drawing is larger than {MAX_DRAWING_BYTES:,} bytes")
    return content
