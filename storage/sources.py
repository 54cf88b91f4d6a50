"""The drawings that a bundle's maps name: files beside the bundle, or data URLs within it."""

import base64
import binascii
from pathlib import Path

DATA_URL = "data:image/svg+xml;base64,"
MOST_BYTES = 20 << 20


class SourceFault(Exception):
    """A source cannot be read; the message says why and what would do."""


def read_source(source: str, directory: Path | None) -> bytes:
    """The drawing that a map names. Raises SourceFault."""
    if source.startswith("data:"):
        return _inlined(source)
    if directory is None:
        raise SourceFault("must be a data URL where the bundle is not a file")
    try:
        path = (directory / source).resolve()
        if Path(source).is_absolute() or not path.is_relative_to(directory.resolve()):
            raise SourceFault(f'"{source}" leads out of the directory of the bundle')
        if path.exists() and not path.is_file():
            raise SourceFault(f'"{source}" is not a file')
        if path.stat().st_size > MOST_BYTES:
            raise SourceFault(f'"{source}" is larger than {MOST_BYTES:,} bytes')
        return path.read_bytes()
    except OSError as error:
        raise SourceFault(f'"{source}" beside the bundle: {error.strerror}') from error


def to_data_url(content: bytes) -> str:
    """A drawing in the form that travels within a bundle."""
    return DATA_URL + base64.b64encode(content).decode("ascii")


def _inlined(source: str) -> bytes:
    if not source.startswith(DATA_URL):
        raise SourceFault(f"a data URL of a drawing begins with {DATA_URL}")
    try:
        content = base64.b64decode(source.removeprefix(DATA_URL), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SourceFault(f"the data URL is damaged: {error}") from error
    if len(content) > MOST_BYTES:
        raise SourceFault(f"the drawing is larger than {MOST_BYTES:,} bytes")
    return content
