"""Generate Harbour Hall, a small market hall in IMDF, as folder and zip: `python -m samples.venue`.

Two levels of 60 by 30 metres cover what a reader of IMDF must handle: units of many kinds, openings
narrow and wide, a lift, stairs, an escalator that only goes up, a void, columns, a kiosk, amenities
and occupants at anchors.
"""

import json
import math
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from samples.output.files import write_files

FOLDER = Path("samples/imdf/harbour-hall")
ARCHIVE = Path("samples/imdf/harbour-hall.zip")
NAMESPACE = UUID("6f1d3f0e-6f5a-4f0e-9d0a-0d5b6a1c7e42")
LONGITUDE, LATITUDE = 10.0, 56.15
WIDTH_METRES, DEPTH_METRES = 60.0, 30.0

GeoJsonObject = dict[str, Any]
Box = tuple[float, float, float, float]
"""West, north, east, south in metres from the hall's north-west corner."""

WALKWAY: Box = (0, 12, 60, 18)
UNITS: tuple[tuple[int, str, str, str, Box], ...] = (
    (0, "concourse", "walkway", "Concourse", WALKWAY),
    (0, "bakery", "room", "Harbour Bakery", (0, 0, 15, 12)),
    (0, "books", "room", "Tide Books", (15, 0, 30, 12)),
    (0, "tools", "room", "Rope and Tar", (30, 0, 45, 12)),
    (0, "flowers", "room", "Flowers", (45, 0, 60, 12)),
    (0, "toilets-0", "restroom.wheelchair", "Toilets", (0, 18, 10, 30)),
    (0, "plant-room", "nonpublic", "Plant room", (10, 18, 20, 30)),
    (0, "lift-0", "elevator", "Lift", (20, 18, 24, 22)),
    (0, "stairs-0", "stairs", "Stairs", (26, 18, 30, 26)),
    (0, "escalator-0", "escalator", "Escalator", (34, 18, 37, 30)),
    (0, "food", "foodservice", "Food hall", (40, 18, 60, 30)),
    (0, "column-1", "column", "", (21.6, 14.6, 22.4, 15.4)),
    (0, "column-2", "column", "", (41.6, 14.6, 42.4, 15.4)),
    (1, "gallery", "walkway", "Gallery", WALKWAY),
    (1, "void", "opentobelow", "", (45, 14, 55, 16)),
    (1, "studio", "room", "Studio", (0, 0, 20, 12)),
    (1, "cinema", "movietheater", "Cinema", (20, 0, 60, 12)),
    (1, "terrace", "terrace", "Terrace", (0, 18, 15, 30)),
    (1, "lift-1", "elevator", "Lift", (20, 18, 24, 22)),
    (1, "stairs-1", "stairs", "Stairs", (26, 18, 30, 26)),
    (1, "escalator-1", "escalator", "Escalator", (34, 18, 37, 30)),
    (1, "lounge", "lounge", "Lounge", (40, 18, 60, 30)),
)
OPENINGS: tuple[tuple[int, str, str, str, Box], ...] = (
    (0, "main-entrance", "pedestrian.principal", "sliding", (0, 14, 0, 16)),
    (0, "emergency-exit", "emergencyexit", "swinging", (60, 14.5, 60, 15.5)),
    (0, "bakery-door", "pedestrian", "sliding", (6, 12, 8, 12)),
    (0, "books-door", "pedestrian", "swinging", (22, 12, 23.2, 12)),
    (0, "tools-door", "pedestrian", "swinging", (36, 12, 37.2, 12)),
    (0, "flowers-door", "pedestrian", "open", (50, 12, 53, 12)),
    (0, "toilets-door", "pedestrian", "swinging", (4, 18, 4.9, 18)),
    (0, "plant-room-door", "service", "swinging", (14, 18, 14.7, 18)),
    (0, "lift-door-0", "pedestrian", "sliding", (21.4, 18, 22.6, 18)),
    (0, "stairs-door-0", "pedestrian", "open", (26.5, 18, 29.5, 18)),
    (0, "escalator-foot", "pedestrian", "open", (34.5, 18, 36.5, 18)),
    (0, "food-door", "pedestrian", "open", (48, 18, 52, 18)),
    (1, "studio-door", "pedestrian", "swinging", (9, 12, 10.2, 12)),
    (1, "cinema-door", "pedestrian", "swinging", (38, 12, 40, 12)),
    (1, "lift-door-1", "pedestrian", "sliding", (21.4, 18, 22.6, 18)),
    (1, "stairs-door-1", "pedestrian", "open", (26.5, 18, 29.5, 18)),
    (1, "escalator-head", "pedestrian", "open", (34.5, 18, 36.5, 18)),
    (1, "lounge-door", "pedestrian", "swinging", (49, 18, 50.2, 18)),
)
AMENITIES = (
    ("atm", "atm", "Cash", "concourse", (58.0, 17.0)),
    ("desk", "information", "Harbour office", "gallery", (30.0, 13.0)),
    ("toilets", "restroom.wheelchair", "Toilets", "toilets-0", (5.0, 24.0)),
    ("fountain", "drinkingfountain", "Water", "gallery", (2.0, 17.0)),
    ("defibrillator", "defibrillator", "Defibrillator", "concourse", (2.0, 13.0)),
)
OCCUPANTS = (
    ("bakery-shop", "bakery", "Harbour Bakery", "bakery", (7.5, 5.0)),
    ("books-shop", "bookstore", "Tide Books", "books", (22.5, 6.0)),
    ("tools-shop", "hardwarestore", "Rope and Tar", "tools", (37.5, 5.0)),
    ("flowers-shop", "florist", "Flowers", "flowers", (52.5, 5.0)),
    ("oyster-bar", "restaurant", "Oyster Bar", "food", (58.0, 28.0)),
    ("potters", "artgallery", "Potters", "studio", (10.0, 5.0)),
    ("cinema-hall", "movietheater", "Pier Pictures", "cinema", (40.0, 6.0)),
)
CONNECTIONS = (
    ("lift", "elevator", "undirected", "lift-0", "lift-1"),
    ("stairs", "stairs", "undirected", "stairs-0", "stairs-1"),
    ("escalator", "escalator", "directed", "escalator-0", "escalator-1"),
)


def make_venue() -> dict[str, bytes]:
    """Return the archive's members by name; the same on every run."""
    collections = {
        "address": [address()],
        "venue": [venue()],
        "building": [building()],
        "footprint": [footprint()],
        "level": [level(0, "Ground floor"), level(1, "Gallery floor")],
        "unit": [unit(*row) for row in UNITS],
        "opening": [opening(*row) for row in OPENINGS],
        "fixture": [fixture()],
        "kiosk": [kiosk()],
        "amenity": [amenity(*row) for row in AMENITIES],
        "anchor": [anchor(name, unit_name, at) for name, _, _, unit_name, at in OCCUPANTS],
        "occupant": [occupant(*row) for row in OCCUPANTS],
        "relationship": [relationship(*row) for row in CONNECTIONS],
    }
    manifest = {
        "version": "1.0.0",
        "created": "2026-03-02T09:00:00.000Z",
        "generated_by": "Floorgate samples",
        "language": "en",
    }
    members = {
        f"{kind}.geojson": {"type": "FeatureCollection", "name": kind, "features": features}
        for kind, features in collections.items()
    }
    return {name: to_json(value) for name, value in {"manifest.json": manifest, **members}.items()}


def make_archive(members: dict[str, bytes]) -> bytes:
    """Zip members with a fixed date, so that the bytes are the same on every run."""
    archive = BytesIO()
    with ZipFile(archive, "w") as opened:
        for name, content in members.items():
            info = ZipInfo(name, (2026, 3, 2, 9, 0, 0))
            info.compress_type = ZIP_DEFLATED
            opened.writestr(info, content)
    return archive.getvalue()


def to_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"


def feature_id(kind: str, name: str) -> str:
    return str(uuid5(NAMESPACE, f"{kind}/{name}"))


def build_feature(
    kind: str, name: str, geometry: GeoJsonObject | None, /, **properties: Any
) -> GeoJsonObject:
    return {
        "id": feature_id(kind, name),
        "type": "Feature",
        "feature_type": kind,
        "geometry": geometry,
        "properties": properties,
    }


def to_longitude_latitude(x: float, y: float) -> list[float]:
    """Convert metres east and south by the radii of curvature of WGS 84.

    Independent of the parser's projection on purpose: tests compare the two.
    """
    sine = math.sin(math.radians(LATITUDE))
    squash = 1 - 0.006_694_379_990_14 * sine * sine
    meridian = 6_378_137 * (1 - 0.006_694_379_990_14) / squash**1.5
    parallel = 6_378_137 / math.sqrt(squash) * math.cos(math.radians(LATITUDE))
    longitude = LONGITUDE + math.degrees(x / parallel)
    return [round(longitude, 9), round(LATITUDE - math.degrees(y / meridian), 9)]


def build_polygon(box: Box) -> GeoJsonObject:
    west, north, east, south = box
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    return {
        "type": "Polygon",
        "coordinates": [[to_longitude_latitude(*corner) for corner in corners]],
    }


def build_point(at: tuple[float, float]) -> GeoJsonObject:
    return {"type": "Point", "coordinates": to_longitude_latitude(*at)}


def box_centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def build_label(name: str) -> dict[str, str] | None:
    return {"en": name} if name else None


def address() -> GeoJsonObject:
    return build_feature(
        "address", "hall", None, address="1 Quay", unit=None, locality="Aarhus", province=None,
        country="DK", postal_code=None, postal_code_ext=None,
    )  # fmt: skip


def venue() -> GeoJsonObject:
    outline = (0.0, 0.0, WIDTH_METRES, DEPTH_METRES)
    return build_feature(
        "venue", "hall", build_polygon(outline), category="shoppingcenter", restriction=None,
        name=build_label("Harbour Hall"), alt_name=None, hours=None, phone=None, website=None,
        display_point=build_point(box_centre(outline)), address_id=feature_id("address", "hall"),
    )  # fmt: skip


def building() -> GeoJsonObject:
    return build_feature(
        "building", "hall", None, category="unspecified", restriction=None,
        name=build_label("Harbour Hall"), alt_name=None, display_point=None,
        address_id=feature_id("address", "hall"),
    )  # fmt: skip


def footprint() -> GeoJsonObject:
    outline = build_polygon((0, 0, WIDTH_METRES, DEPTH_METRES))
    return build_feature(
        "footprint", "hall", outline, category="ground", name=None,
        building_ids=[feature_id("building", "hall")],
    )  # fmt: skip


def level(ordinal: int, name: str) -> GeoJsonObject:
    outline = (0.0, 0.0, WIDTH_METRES, DEPTH_METRES)
    return build_feature(
        "level", str(ordinal), build_polygon(outline), category="unspecified", restriction=None,
        outdoor=False, ordinal=ordinal, name=build_label(name),
        short_name=build_label(str(ordinal)),
        display_point=build_point(box_centre(outline)), address_id=None,
        building_ids=[feature_id("building", "hall")],
    )  # fmt: skip


def unit(ordinal: int, name: str, category: str, title: str, box: Box) -> GeoJsonObject:
    shape = build_polygon(box)
    if name == "gallery":
        shape["coordinates"] += [hole[::-1] for hole in gallery_void()]
    return build_feature(
        "unit", name, shape, category=category, restriction=None, accessibility=None,
        name=build_label(title), alt_name=None, level_id=feature_id("level", str(ordinal)),
        display_point=build_point(box_centre(box)),
    )  # fmt: skip


def gallery_void() -> list[list[list[float]]]:
    """Return the hole that the void leaves in the gallery: IMDF units must not overlap."""
    boxes = [box for _, _, category, _, box in UNITS if category == "opentobelow"]
    return [ring for box in boxes for ring in build_polygon(box)["coordinates"]]


def opening(ordinal: int, name: str, category: str, door: str, box: Box) -> GeoJsonObject:
    ends = [to_longitude_latitude(box[0], box[1]), to_longitude_latitude(box[2], box[3])]
    return build_feature(
        "opening", name, {"type": "LineString", "coordinates": ends}, category=category,
        accessibility=None, access_control=None,
        door={"type": door, "automatic": door == "sliding", "material": None},
        name=None, alt_name=None, display_point=None,
        level_id=feature_id("level", str(ordinal)),
    )  # fmt: skip


def fixture() -> GeoJsonObject:
    return build_feature(
        "fixture", "counter", build_polygon((2, 8, 10, 9)), category="desk",
        name=build_label("Counter"), alt_name=None, anchor_id=None,
        level_id=feature_id("level", "0"), display_point=None,
    )  # fmt: skip


def kiosk() -> GeoJsonObject:
    return build_feature(
        "kiosk", "coffee", build_polygon((30, 14, 33, 16)), name=build_label("Coffee kiosk"),
        alt_name=None, anchor_id=None, level_id=feature_id("level", "0"), display_point=None,
    )  # fmt: skip


def amenity(
    name: str, category: str, title: str, unit_name: str, at: tuple[float, float]
) -> GeoJsonObject:
    return build_feature(
        "amenity", name, build_point(at), category=category, accessibility=None,
        name=build_label(title), alt_name=None, hours=None, phone=None, website=None,
        unit_ids=[feature_id("unit", unit_name)], address_id=None, correlation_id=None,
    )  # fmt: skip


def anchor(name: str, unit_name: str, at: tuple[float, float]) -> GeoJsonObject:
    unit_id = feature_id("unit", unit_name)
    return build_feature("anchor", name, build_point(at), address_id=None, unit_id=unit_id)


def occupant(
    name: str, category: str, title: str, unit_name: str, at: tuple[float, float]
) -> GeoJsonObject:
    return build_feature(
        "occupant", name, None, category=category, name=build_label(title), hours=None, phone=None,
        website=None, validity=None, correlation_id=None, anchor_id=feature_id("anchor", name),
    )  # fmt: skip


def relationship(name: str, category: str, direction: str, origin: str, end: str) -> GeoJsonObject:
    def reference(unit_name: str) -> dict[str, str]:
        return {"id": feature_id("unit", unit_name), "feature_type": "unit"}

    return build_feature(
        "relationship", name, None, category=category, direction=direction,
        origin=reference(origin), intermediary=None, destination=reference(end), hours=None,
    )  # fmt: skip


def make_files() -> dict[Path, bytes]:
    """Return file contents by path below the checkout."""
    members = make_venue()
    files = {FOLDER / name: content for name, content in members.items()}
    return {**files, ARCHIVE: make_archive(members)}


if __name__ == "__main__":
    write_files(make_files())
