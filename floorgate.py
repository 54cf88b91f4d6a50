"""The program `floorgate`, if its packages are its own: their names are common.

Another distribution in the environment may have one of the same name, or a folder that PYTHONPATH
names. This module shares no name with them, so that it can say so.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("gateway", "parsing", "resolvers", "rest", "routing", "schema", "storage")
REMEDY = (
    "Floorgate needs an environment of its own, and no PYTHONPATH: install its wheel with"
    " 'uv tool install FILE', or with pip in a new environment that 'python -m venv' makes"
)


def main() -> None:
    """Run the command line. Exit status 1 where a package of the same name is in the way."""
    if conflict := find_conflict(Path(__file__).parent):
        sys.exit(f"Error: {conflict}. {REMEDY}.")
    from gateway.cli.main import main

    main()


def find_conflict(root: Path) -> str | None:
    """Return which file shadows one of Floorgate's packages in `root`, or is shadowed by it.

    If two distributions have the same package, the one that is installed last overwrites files of
    the other. The `__init__.py` of Floorgate's packages are empty, which tells them from others.
    """
    for name in PACKAGES:
        own = root / name / "__init__.py"
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            return f"{own} is missing"
        if spec.origin != str(own):
            return f"{spec.origin} shadows Floorgate's package of the same name, {own.parent}"
        if own.stat().st_size:
            return f"{own} is that of another distribution, which has overwritten Floorgate's"
    others = (f"{name}{end}" for name in PACKAGES for end in (".py", "-*.dist-info"))
    for other in (file for pattern in others for file in root.glob(pattern)):
        return f"{other} has the name of one of Floorgate's packages, which shadows it"
    return None


if __name__ == "__main__":
    main()
