"""Write the pictures of levels to files."""

from collections.abc import Mapping
from pathlib import Path


def write_pictures(directory: Path, pictures: Mapping[str, str]) -> None:
    """Write each SVG to a file of its name; characters that may have a meaning become _."""
    for name, svg in pictures.items():
        find_picture_file(directory, name).write_text(svg, encoding="utf-8")


def find_picture_file(directory: Path, name: str) -> Path:
    """Return the file of a picture.

    >>> find_picture_file(Path("out"), "tower.Level 2/3").as_posix()
    'out/tower.Level_2_3.svg'
    """
    safe = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
    return directory / f"{safe}.svg"
