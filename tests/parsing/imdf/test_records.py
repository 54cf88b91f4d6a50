import json
from typing import Any

import pytest

from parsing.errors import InvalidPlanError
from parsing.imdf.records import (
    ImdfRecord,
    parse_language,
    parse_records,
    pick_label,
    strip_folders,
)


@pytest.mark.parametrize(
    ("language", "label"), [("da", "Bageri"), ("de", "Bakery"), ("", "Bakery")]
)
def test_a_label_falls_back_to_english(language: str, label: str) -> None:
    assert pick_label({"da": "Bageri", "en": "Bakery"}, language) == label


def test_a_label_without_english_is_the_first_one() -> None:
    assert pick_label({"da": "Bageri"}, "de") == "Bageri"
    assert pick_label(None, "de") == ""


def test_folders_and_files_of_operating_systems_are_stripped() -> None:
    members = {"hall/unit.geojson": b"1", "__MACOSX/unit.geojson": b"", "hall/.DS_Store": b""}
    assert strip_folders(members) == {"unit.geojson": b"1"}
    assert strip_folders({"hall\\unit.geojson": b"1"}) == {"unit.geojson": b"1"}


def test_properties_of_another_type_count_as_missing() -> None:
    record = ImdfRecord("unit", "u1", {"category": 3, "accessibility": ["wheelchair", None]}, None)
    assert record.get_text("category") == ""
    assert record.get_texts("accessibility") == ["wheelchair"]
    assert record.get_texts("category") == []
    assert record.name == "unit.geojson: u1"


def collection(**changes: Any) -> dict[str, bytes]:
    unit = {"type": "Feature", "id": "u1", "feature_type": "unit", "properties": {}, **changes}
    return {"unit.geojson": json.dumps({"type": "FeatureCollection", "features": [unit]}).encode()}


def test_records_are_returned_by_id() -> None:
    assert parse_records(collection(), "unit") == {"u1": ImdfRecord("unit", "u1", {}, None)}
    assert parse_records({}, "unit") == {}


def test_a_feature_of_another_type_is_an_error() -> None:
    with pytest.raises(InvalidPlanError, match="u1 has feature_type 'level'; expected 'unit'"):
        parse_records(collection(feature_type="level"), "unit")


def test_the_manifest_gives_the_language() -> None:
    assert parse_language(b'{"version": "1.0.0", "language": "da"}') == "da"
    with pytest.raises(InvalidPlanError, match=r"version is 2.0.0; 1.0.0 is read"):
        parse_language(b'{"version": "2.0.0"}')
