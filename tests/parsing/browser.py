"""Drawings as a real browser draws them."""

import base64
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageChops

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)


# A drawing that is no whole number of pixels high must not be centred in those given to it.
TO_THE_CORNER = "#svgView(preserveAspectRatio(xMinYMin meet))"


class PictureSheet(NamedTuple):
    """One SVG and the size in CSS pixels to draw it at."""

    svg: bytes
    width: int
    height: int


def draw(sheets: Sequence[PictureSheet], folder: Path) -> list[Image.Image]:
    """Return one picture a sheet, all taken from one page; `folder` is for the browser's files.

    Sheets of equal sizes stand in equal places, whatever they show, so that two pages round
    coordinates alike.
    """
    assert CHROMIUM is not None, "ask for CHROMIUM before drawing"
    page, screenshot = folder / "sheets.html", folder / "sheets.png"
    page.write_text("<!doctype html><body style='margin:0'>" + "".join(map(_image, sheets)))
    width = max(sheet.width for sheet in sheets)
    height = sum(sheet.height for sheet in sheets)
    subprocess.run(
        [
            CHROMIUM,
            *FLAGS,
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},{height}",
            f"--screenshot={screenshot}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    with Image.open(screenshot) as picture:
        return _cut(picture.convert("RGB"), sheets)


def differing_share(one: Image.Image, other: Image.Image, tolerance: int = 1) -> float:
    """Return the share of pixels with a channel that differs by more than `tolerance` of 255.

    By one, a browser rounds the opacity of a group otherwise than that of a shape.
    """
    bands = ImageChops.difference(one, other).split()
    largest = bands[0]
    for band in bands[1:]:
        largest = ImageChops.lighter(largest, band)
    return sum(largest.histogram()[tolerance + 1 :]) / (one.width * one.height)


def is_blank(picture: Image.Image) -> bool:
    """Return whether every pixel is the same."""
    return len(picture.getcolors(2) or ()) == 1


def _image(sheet: PictureSheet) -> str:
    source = f"data:image/svg+xml;base64,{base64.b64encode(sheet.svg).decode()}{TO_THE_CORNER}"
    size = f"width:{sheet.width}px;height:{sheet.height}px"
    return f"<img style='display:block;{size}' src='{source}'>"


def _cut(picture: Image.Image, sheets: Sequence[PictureSheet]) -> list[Image.Image]:
    pictures: list[Image.Image] = []
    top = 0
    for sheet in sheets:
        bottom = top + sheet.height
        pictures.append(picture.crop((0, top, sheet.width, bottom)))
        top = bottom
    return pictures
