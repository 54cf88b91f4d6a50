from typing import Any

import pytest

from parsing.drawing import AreaGeometry, Geometry, LinesGeometry, PointGeometry
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError
from parsing.geo import geojson

RING = [[10, 56], [11, 56], [11, 57], [10, 56]]
OPEN_RING = ((10.0, 56.0), (11.0, 56.0), (11.0, 57.0))


def feature(kind: str, coordinates: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}}


@pytest.mark.parametrize(
    ("kind", "coordinates", "geometry"),
    [
        ("Point", [10, 56, 3.5], PointGeometry((10, 56))),  # the altitude is ignored
        ("LineString", RING[:2], LinesGeometry((OPEN_RING[:2],))),
        ("MultiLineString", [RING[:2], RING[:2]], LinesGeometry((OPEN_RING[:2],) * 2)),
        ("Polygon", [RING, RING], AreaGeometry((OPEN_RING,) * 2)),
        ("MultiPolygon", [[RING], [RING, RING]], AreaGeometry((OPEN_RING,) * 3)),
    ],
)
def test_geometries_are_parsed(kind: str, coordinates: Any, geometry: Geometry) -> None:
    assert geojson.parse_geometry(feature(kind, coordinates), "a") == geometry


@pytest.mark.parametrize(
    ("feature", "kind"),
    [
        ({"geometry": None}, None),
        ({}, None),
        (feature("MultiPoint", [[10, 56]]), "MultiPoint"),
        (feature("GeometryCollection", None), "GeometryCollection"),
    ],
)
def test_a_missing_or_unsupported_geometry_is_none(
    feature: dict[str, Any], kind: str | None
) -> None:
    assert geojson.parse_geometry(feature, "a") is None
    assert geojson.geometry_type(feature) == kind


def test_an_unknown_type_of_geometry_is_an_error() -> None:
    with pytest.raises(InvalidPlanError, match="geometry is 'Circle'; expected one of Point"):
        geojson.parse_geometry(feature("Circle", [10, 56]), "a")


def test_json_errors_carry_line_and_column() -> None:
    with pytest.raises(NotWellFormedError, match=r"^a: not JSON in UTF-8: .* line 2 column 1"):
        geojson.parse_json(b"[\n", "a")


def test_a_document_over_the_limit_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geojson, "MAX_SOURCE_BYTES", 10)
    with pytest.raises(DocumentRejectedError, match=r"^a: 11 bytes; at most 10 are read"):
        geojson.parse_json(b"[1,2,3,4,5]", "a")
