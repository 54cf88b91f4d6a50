"""Files that are written to their end, or not at all."""

import os
import stat
from contextlib import suppress
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Replace a file in one step; if that fails, it stays as it was. Raises OSError with its name.

    Its mode stays. What is no file, such as a pipe, is written to, and so is a file in a directory
    that is not writable.
    """
    target = path
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() else None
        if mode is not None or not path.exists():
            path = target = path.resolve()
            unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
            with suppress(PermissionError):
                unfinished.touch(0o666 if mode is None else 0o600)
                target = unfinished
        target.write_bytes(content)
        if target != path:
            if mode is not None:
                target.chmod(mode)
            target.replace(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        if target != path:
            target.unlink(missing_ok=True)
