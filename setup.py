"""Build a wheel that needs no checkout: what it takes from outside of the packages.

The rest is in pyproject.toml. `make wheel` first builds what is not in git.
"""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
FILES = (
    *("*.md", "LICENSE", "Dockerfile", "docker-compose.yml"),
    *("docs/**/*", "samples/**/*", "clients/dist/*", "clients/examples/*/*"),
    # With these, operators generate the libraries for endpoints of their own.
    *("clients/generate.py", "clients/templates/*", "clients/python/**/*"),
    *("clients/typescript/*", "clients/typescript/src/*", "clients/map/README.md"),
    *("schema/schema.graphql", "storage/bundles/bundle.schema.json"),
)
LEFT_OUT = {"CONTRIBUTING.md", "node_modules", "__pycache__"}
BUILT = (
    *("gateway/web/dist/graphiql.html", "clients/dist/floorgate_client-*.whl"),
    *("clients/dist/floorgate-client-*.tgz", "clients/dist/floorgate-map-*.js"),
)


def find_files() -> set[Path]:
    """Return the files that `floorgate files` writes: guides, samples, clients.

    Raises SystemExit if one that is not in git is not built yet.
    """
    if missing := [file for file in BUILT if not any(ROOT.glob(file))]:
        raise SystemExit(f"Not built yet: {', '.join(missing)}. 'make wheel' builds all of it.")
    found = (file for pattern in FILES for file in ROOT.glob(pattern) if file.is_file())
    return {file for file in found if not _is_left_out(file.relative_to(ROOT))}


def _is_left_out(file: Path) -> bool:
    is_code = file.parts[0] == "samples" and file.suffix == ".py"  # it makes the samples
    return is_code or not LEFT_OUT.isdisjoint(file.parts)


def copy_files(folder: Path) -> None:
    """Copy these files to `folder`."""
    files = find_files()
    for file in files:
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            copy.write_text(_make_dead_links_text(file, files))
        else:
            shutil.copyfile(file, copy)


def _make_dead_links_text(page: Path, files: set[Path]) -> str:
    """Return a page on which links to files that only a checkout has are plain text."""

    def keep_link(link: re.Match[str]) -> str:
        return link[0] if (page.parent / link[2]).resolve() in files else link[1]

    return re.sub(r"\[([^\]]+)\]\(([^)#:\s]+)(?:#[^)\s]+)?\)", keep_link, page.read_text())


class BuildWithFiles(build_py):
    """Copies the files into the package `gateway`, unless the checkout itself is installed."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)  # files that are no longer there
            copy_files(Path(self.build_lib) / "gateway" / "files")
        super().run()


class SourcesWithFiles(sdist):
    """Adds the files, so that a wheel can be built from a source distribution."""

    def make_distribution(self) -> None:
        self.filelist.extend(sorted(str(file.relative_to(ROOT)) for file in find_files()))
        super().make_distribution()


if __name__ == "__main__":
    setup(cmdclass={"build_py": BuildWithFiles, "sdist": SourcesWithFiles})
