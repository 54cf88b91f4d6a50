"""Files that are written to their end, or not at all."""

import os
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Replace a file in one step; if that fails, it stays as it was. Raises OSError with its name.

    What is no file, such as a pipe, is written to.
    """
    target = path
    try:
        if path.is_file() or not path.exists():
            path = path.resolve()
            target = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
        target.write_bytes(content)
        if target != path:
            target.replace(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        if target != path:
            target.unlink(missing_ok=True)
