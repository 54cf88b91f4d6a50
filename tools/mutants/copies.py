"""Copies of a checkout, in which faults are planted and tests run."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import cache_from_source
from pathlib import Path

from tools.mutants.places import Place, plant
from tools.mutants.probe import function_of

LEFT_OUT = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.*)", re.MULTILINE)
MARK = "FLOORGATE_MUTANTS_COPY"
UNSHRUNK = "floorgate_unshrunk"
"""A plugin for pytest: hypothesis takes minutes to shrink an example that is not read."""
UNSHRUNK_CODE = """
from hypothesis import Phase, settings

settings.register_profile("unshrunk", phases=(Phase.explicit, Phase.generate))
settings.load_profile("unshrunk")
"""


class Copy:
    """A checkout of its own, and an environment with links to the original packages."""

    def __init__(self, checkout: Path, root: Path) -> None:
        self.root = root
        if (checkout / ".git").exists():
            _run("git", "clone", "--quiet", "--no-checkout", "--shared", checkout, root)
        ignored = shutil.ignore_patterns(*LEFT_OUT)
        shutil.copytree(checkout, root, symlinks=True, ignore=ignored, dirs_exist_ok=True)
        if (checkout / ".git").exists():
            _run("git", "-C", root, "reset", "--quiet")
        self.packages = _link_environment(checkout.resolve() / ".venv", root / ".venv")
        (self.packages / f"{UNSHRUNK}.py").write_text(UNSHRUNK_CODE)

    def pytest(self, *arguments: str, seconds: float | None = None) -> tuple[int | None, set[str]]:
        """Run pytest; return its status, None after too many seconds, and the tests that failed.

        All processes that it leaves behind are killed.
        """
        log = self.root.with_suffix(".log")
        scratch = f"--basetemp={self.root.with_suffix('.tmp')}"
        python = str(self.root / ".venv/bin/python")
        command = [python, "-m", "pytest", "-p", UNSHRUNK, "-q", "--tb=no", "-rfE", scratch]
        marked = {**os.environ, MARK: str(self.root)}
        marked.pop("PYTHONPATH", None)
        with log.open("w") as output:
            process = subprocess.Popen(
                [*command, *arguments], cwd=self.root, env=marked, stdout=output, stderr=output
            )
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self._kill_processes()
                process.wait()
        return status, {
            function_of(test) for test in FAILED.findall(log.read_text(errors="replace"))
        }

    @contextmanager
    def planted(self, place: Place) -> Iterator[bool]:
        """Plant a fault for a moment; yield False if this version of the file lacks the place."""
        file = self.root / place.file
        original = file.read_bytes() if file.exists() else b""
        if (faulty := plant(original.decode(), place)) is None:
            yield False
            return
        compiled = Path(cache_from_source(str(file)))  # may be as old and as long as the new file
        try:
            file.write_text(faulty)
            compiled.unlink(missing_ok=True)
            yield True
        finally:
            file.write_bytes(original)
            compiled.unlink(missing_ok=True)

    def _kill_processes(self) -> None:
        mark = f"{MARK}={self.root}\0".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)


def _link_environment(original: Path, environment: Path) -> Path:
    """Make an environment in which the product is that of the copy; return its packages."""
    packages = environment / next(original.glob("lib/python3*/site-packages")).relative_to(original)
    for folder in (packages, environment / "bin"):
        folder.mkdir(parents=True)
        for entry in (original / folder.relative_to(environment)).iterdir():
            is_bound = entry.name.startswith("__editable__") or _is_script(entry)
            if is_bound:
                text = entry.read_text()
                copy = folder / entry.name
                copy.write_text(text.replace(f"{original.parent}/", f"{environment.parent}/"))
                copy.chmod(entry.stat().st_mode)
            elif entry.name != "__pycache__":
                (folder / entry.name).symlink_to(entry.readlink() if entry.is_symlink() else entry)
    for entry in original.iterdir():
        if entry.name not in ("lib", "lib64", "bin"):
            (environment / entry.name).symlink_to(entry)
    return packages


def _is_script(file: Path) -> bool:
    if file.is_symlink() or not file.is_file() or file.parent.name != "bin":
        return False
    with file.open("rb") as opened:
        return opened.read(2) == b"#!"


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)
