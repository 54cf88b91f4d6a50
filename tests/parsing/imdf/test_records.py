from typing import Any

import pytest

from parsing.drawing import NoteCollector
from parsing.errors import InvalidPlanError
from parsing.geo.geojson import GeoJsonFeature
from parsing.imdf.records import (
    ImdfRecord,
    parse_language,
    parse_records,
    pick_label,
    strip_folders,
)


@pytest.mark.parametrize(
    ("labels", "language", "label"),
    [
        ({"da": "Bageri", "en": "Bakery"}, "da", "Bageri"),
        ({"da": "Bageri", "en": "Bakery"}, "de", "Bakery"),
        ({"da": "Bageri"}, "de", "Bageri"),
        (None, "de", ""),
    ],
)
def test_a_label_falls_back_to_english_then_to_the_first(
    labels: dict[str, str] | None, language: str, label: str
) -> None:
    assert pick_label(labels, language) == label


def test_folders_and_files_of_operating_systems_are_stripped() -> None:
    members = {"hall/unit.geojson": b"1", "__MACOSX/unit.geojson": b"", "hall/.DS_Store": b""}
    assert strip_folders(members) == {"unit.geojson": b"1"}
    assert strip_folders({"hall\\unit.geojson": b"1"}) == {"unit.geojson": b"1"}


def test_properties_of_another_type_count_as_missing() -> None:
    record = ImdfRecord(
        "a", "unit", "u1", {"category": 3, "accessibility": ["wheelchair", None]}, None
    )
    assert record.get_text("category") == ""
    assert record.get_texts("accessibility") == ["wheelchair"]
    assert record.get_texts("category") == []


def unit(**changes: Any) -> GeoJsonFeature:
    written = {"type": "Feature", "id": "u1", "feature_type": "unit", "properties": {}, **changes}
    return GeoJsonFeature("unit.geojson", "features[0]", written)


def test_records_are_returned_by_id() -> None:
    record = ImdfRecord("unit.geojson", "unit", "u1", {}, None)
    assert parse_records([unit()], "unit", NoteCollector()) == {"u1": record}
    assert parse_records([], "unit", NoteCollector()) == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feature_type": "level"}, "unit.geojson: u1 has feature_type 'level'; expected 'unit'"),
        ({"id": None}, "unit.geojson: features[0] has no id"),
        (
            {"id": None, "properties": {"name": {"en": "Bar"}}},
            "unit.geojson: 'Bar' (features[0]) has no id",
        ),
        ({"properties": None}, "unit.geojson: u1 has no properties"),
    ],
)
def test_a_faulty_feature_is_left_out_and_named(changes: dict[str, Any], message: str) -> None:
    collector = NoteCollector()
    records = parse_records([unit(id="u2"), unit(**changes)], "unit", collector)
    assert list(records) == ["u2"]
    assert [str(fault) for fault in collector.faults] == [message]


def test_the_first_feature_of_an_id_counts() -> None:
    collector = NoteCollector()
    features = [unit(properties={"category": "room"}), unit()]
    assert parse_records(features, "unit", collector)["u1"].get_text("category") == "room"
    assert [str(f) for f in collector.faults] == ["unit.geojson: u1 is there twice; ids are unique"]


def test_the_type_of_a_feature_may_be_among_its_properties() -> None:
    feature = unit(feature_type=None, properties={"feature_type": "unit"})
    assert list(parse_records([feature], "unit", NoteCollector())) == ["u1"]


def test_the_manifest_gives_the_language() -> None:
    manifest = b'{"version": "1.0.0", "language": "da"}'
    assert parse_language(manifest, NoteCollector()) == "da"
    with pytest.raises(InvalidPlanError, match=r"version is 2.0.0; 1.0.0 is read"):
        parse_language(b'{"version": "2.0.0"}', NoteCollector())


@pytest.mark.parametrize("manifest", [b"[]", b"{}", b'{"version": 1}'])
def test_a_manifest_without_version_is_a_fault(manifest: bytes) -> None:
    collector = NoteCollector()
    assert parse_language(manifest, collector) == ""
    assert str(collector.faults[0]).startswith("manifest.json: version is missing; expected")
